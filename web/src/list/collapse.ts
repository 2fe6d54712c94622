import { useState } from 'react'

/** The collapsed groups of a list. All are expanded when the list is grouped by another field. */
export function useCollapsed(group: string | undefined): [string[], (value: string) => void] {
  const [kept, setState] = useState<{ group?: string; values: string[] }>({ group, values: [] })
  const values = kept.group === group ? kept.values : none
  return [
    values,
    (value) =>
      setState({ group, values: values.includes(value) ? values.filter((v) => v !== value) : [...values, value] }),
  ]
}

const none: string[] = []
