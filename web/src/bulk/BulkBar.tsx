import { Eye, RotateCcw, ThumbsUp, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { canSelectAll } from '../list/Select'
import type { Selectable, Selection } from '../list/selection'
import { mostSelected } from '../list/selection'
import { Button } from '../ui/Button'
import { BulkDialog } from './BulkDialog'
import type { BulkAction } from './steps'

const buttons: Record<BulkAction, { label: string; icon: ReactNode }> = {
  approve: { label: 'Approve…', icon: <ThumbsUp aria-hidden className="size-4" /> },
  retry: { label: 'Retry…', icon: <RotateCcw aria-hidden className="size-4" /> },
  plan: { label: 'Check for drift…', icon: <Eye aria-hidden className="size-4" /> },
}

/** The actions on the selected rows of a list. It is empty while none is selected. */
export function BulkBar<R extends Selectable>({
  kind,
  actions,
  rows,
  all,
  selection,
}: {
  kind: 'stacks' | 'runs'
  actions: BulkAction[]
  /** The rows of the list, and whether it has no others. */
  rows: R[]
  all: boolean
  selection: Selection<R>
}) {
  const [asked, setAsked] = useState<{ action: BulkAction; targets: R[] }>()
  const { chosen } = selection
  const more = canSelectAll(rows, all) && rows.some((r) => !chosen.has(r.uid))
  return (
    <>
      {chosen.size > 0 && (
        <div
          role="group"
          aria-label="Selected rows"
          className="panel border-strong mt-2 flex shrink-0 flex-wrap items-center gap-2 p-2"
        >
          <p role="status" className="px-1 tabular-nums">
            {chosen.size} selected{chosen.size === mostSelected && ', the most at a time'}
          </p>
          {more && (
            <Button kind="bare" small onClick={() => selection.chooseAll(rows)}>
              Select all {rows.length} that match
            </Button>
          )}
          <div className="ml-auto flex flex-wrap gap-2">
            {actions.map((action) => (
              <Button
                key={action}
                icon={buttons[action].icon}
                onClick={() => setAsked({ action, targets: [...chosen.values()] })}
              >
                {buttons[action].label}
              </Button>
            ))}
            <Button
              kind="bare"
              aria-label="Clear the selection"
              icon={<X aria-hidden className="size-4" />}
              onClick={selection.clear}
            />
          </div>
        </div>
      )}
      {asked && (
        <BulkDialog
          kind={kind}
          {...asked}
          onClose={(sent) => {
            setAsked(undefined)
            if (sent) selection.clear()
          }}
        />
      )}
    </>
  )
}
