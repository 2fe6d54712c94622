import { useEffect, useLayoutEffect, useRef } from 'react'

/** How many dialogs are over the page. While one is, also while it loads, no key is for the page. */
let over = 0

/** Takes the keys from the page while something is over it, wherever the focus is. */
export function useKeysOver(open: boolean): void {
  // Before the browser handles the next key: a dialog that loads has no focus yet.
  useLayoutEffect(() => {
    if (!open) return
    over++
    return () => void over--
  }, [open])
}

/** Reports whether a key is for the page, and not for a field, a menu or a dialog. */
export function isForPage(event: KeyboardEvent): boolean {
  return over === 0 && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target)
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  const within = '[role=dialog],[role=menu],[role=listbox]'
  if (target instanceof HTMLInputElement && target.type === 'checkbox' && !target.closest(within)) return false
  return (
    target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || !!target.closest(within)
  )
}

/** The first of two keys. The second one is no key of its own then. */
const prefix = 'g'

/** Keys of the page by their name (`/`, `j`), or two after each other (`g s`). Ignored while the user types. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    let before = ''
    let at = 0
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isForPage(event)) return
      const second = before === prefix && event.timeStamp - at < 1500
      before = second ? '' : event.key
      at = event.timeStamp
      latest.current[second ? `${prefix} ${event.key}` : event.key]?.(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
