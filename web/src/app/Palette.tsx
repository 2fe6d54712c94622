import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { listQuery } from '../api/queries'
import { kindOf, plurals } from '../kinds'
import { commands } from '../ui/commands'
import { safe } from '../views/text/escape'

type Item = { id: string; label: string; about?: string; hotkey?: string; run: () => void }
type Group = { label: string; items: Item[] }

const found = plurals.filter((plural) => kindOf(plural).found)
/** How many objects of each kind are found at most. */
const mostFound = 6

/** The command palette: the actions of the page, all pages, and the objects that match what is typed. */
export default function Palette({
  onClose,
  places,
}: {
  onClose: () => void
  places: readonly { to: string; label: string; key: string }[]
}) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [actions] = useState(commands)
  const objects = useFound(text.trim())
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const matching = (items: Item[]) => items.filter((i) => words.every((w) => i.label.toLowerCase().includes(w)))
  const groups: Group[] = [
    {
      label: 'On this page',
      items: matching(
        actions.map(({ label, hotkey, run }) => ({
          id: `action ${label}`,
          label,
          hotkey,
          run,
        })),
      ),
    },
    {
      label: 'Pages',
      items: matching(
        places.map((p) => ({
          id: `page ${p.to}`,
          label: p.label,
          hotkey: `g ${p.key}`,
          run: () => void navigate({ to: p.to }),
        })),
      ),
    },
    ...objects.map(({ kind, label, rows }) => ({
      label,
      items: rows.map(({ namespace, name, title }) => ({
        id: `${kind} ${namespace}/${name}`,
        label: `${namespace}/${name}`,
        about: title && safe(title),
        run: () =>
          void navigate({ to: `/${kind}/$namespace/$name` as '/stacks/$namespace/$name', params: { namespace, name } }),
      })),
    })),
  ].filter((g) => g.items.length > 0)

  const choose = (item: Item) => {
    onClose()
    // The action may open a dialog, which takes the focus after this one has returned it.
    setTimeout(item.run)
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[#0008]" />
        <Dialog.Popup
          aria-label="Command palette"
          className="panel fixed top-[10vh] left-1/2 z-50 flex max-h-[70vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col shadow-xl"
        >
          <Autocomplete.Root
            inline
            open
            items={groups}
            filter={null}
            autoHighlight="always"
            keepHighlight
            value={text}
            onValueChange={(value, { reason }) => reason !== 'item-press' && setText(value)}
            itemToStringValue={(item: Item) => item.label}
          >
            <Autocomplete.Input
              aria-label="Search commands, pages and objects"
              placeholder="Stack, Run, page or action"
              className="border-line w-full rounded-t-md border-b bg-transparent p-3 outline-none"
            />
            <Autocomplete.Empty className="text-muted p-3 empty:hidden">Nothing matches.</Autocomplete.Empty>
            <Autocomplete.List className="min-h-0 overflow-y-auto p-1 empty:hidden">
              {(group: Group) => (
                <Autocomplete.Group key={group.label} items={group.items}>
                  <Autocomplete.GroupLabel className="text-muted px-2 pt-2 pb-1 text-xs">
                    {group.label}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(item: Item) => (
                      <Autocomplete.Item
                        key={item.id}
                        value={item}
                        onClick={() => choose(item)}
                        className="data-[highlighted]:bg-chosen flex min-h-9 cursor-default items-center gap-2 rounded px-2"
                      >
                        <span className="min-w-0 truncate">{item.label}</span>
                        {item.about && <span className="text-muted min-w-0 truncate text-sm">{item.about}</span>}
                        {item.hotkey && (
                          <kbd className="bg-sunken ml-auto rounded px-1.5 font-mono text-sm">{item.hotkey}</kbd>
                        )}
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** The objects that match a text, a moment after it was typed. */
function useFound(text: string) {
  const [q, setQ] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setQ(text), 150)
    return () => clearTimeout(timer)
  }, [text])
  const lists = useQueries({
    queries: found.map((kind) => ({ ...listQuery(kind, { q, limit: mostFound }), enabled: q !== '' })),
  })
  return found.map((kind, i) => {
    const rows: { namespace: string; name: string; title?: string }[] = lists[i]?.data?.items ?? []
    return { kind, label: kindOf(kind).label, rows: q && text ? rows : [] }
  })
}
