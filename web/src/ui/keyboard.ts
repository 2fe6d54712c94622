import { useEffect, useRef } from 'react'

/** Reports whether a key is for a field or a dialog, and not for the page. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement && target.type === 'checkbox' && !target.closest('[role=dialog]')) return false
  return (
    target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    !!target.closest('[role=dialog],[role=menu]')
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
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return
      const second = before === prefix && event.timeStamp - at < 1500
      before = second ? '' : event.key
      at = event.timeStamp
      latest.current[second ? `${prefix} ${event.key}` : event.key]?.(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}
