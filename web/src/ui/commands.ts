import { useEffect, useRef } from 'react'
import { useKeys } from './keyboard'

/** What a user can do on the page that is shown: by a button, in the command palette, and by a key if it has one. */
export type Command = { label: string; hotkey?: string; run: () => void }

const registered = new Set<Command>()

/** The commands of the page that is shown. */
export const commands = (): Command[] => [...registered]

/** Adds a command while a component is mounted. Without a label there is none. */
export function useCommand(label: string | undefined, run: () => void, hotkey?: string): void {
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  useEffect(() => {
    if (!label) return
    const command = { label, hotkey, run: () => latest.current() }
    registered.add(command)
    return () => void registered.delete(command)
  }, [label, hotkey])
  useKeys(label && hotkey ? { [hotkey]: run } : {})
}
