import { useEffect, useState } from 'react'

/**
 * A text that a user types, which is kept for the tab until it is cleared: a session that expires leads to the sign-in page and
 * back.
 */
export function useDraft(name: string): [string, (text: string) => void] {
  const key = `draft ${name}`
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '')
  useEffect(() => {
    if (text) sessionStorage.setItem(key, text)
    else sessionStorage.removeItem(key)
  }, [key, text])
  return [text, setText]
}
