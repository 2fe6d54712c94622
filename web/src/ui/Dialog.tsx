import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import type { ButtonProps } from './Button'
import { Button } from './Button'
import { useCommand } from './commands'
import { useKeysOver } from './keyboard'
import { Problem } from './Problem'

/** The dialog that is open, and the onAsking callback of its button. */
export function useAsking<A extends string>(): [A | undefined, (action: A) => (asking: boolean) => void] {
  const [asked, setAsked] = useState<A>()
  return [asked, (action) => (asking) => setAsked((was) => (asking ? action : was === action ? undefined : was))]
}

/** A dialog. Escape and a click beside it close it. */
export function Dialog({
  open,
  onOpenChange,
  title,
  children,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  title: ReactNode
  children: ReactNode
}) {
  useKeysOver(open)
  return (
    <Base.Root open={open} onOpenChange={(to) => onOpenChange(to)}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[#0008]" />
        <Base.Popup className="panel fixed top-[12vh] left-1/2 z-50 flex max-h-[76vh] w-[min(34rem,calc(100vw-2rem))] -translate-x-1/2 flex-col gap-3 overflow-y-auto p-4 shadow-xl">
          <div className="flex items-start gap-2">
            <Base.Title className="grow text-lg font-semibold">{title}</Base.Title>
            <Base.Close
              render={<Button kind="bare" small aria-label="Close" icon={<X aria-hidden className="size-4" />} />}
            />
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/**
 * A button that asks before it acts. With `type`, that word has to be typed first. `run` closes the dialog when it succeeds; when it
 * fails the dialog shows the error, also if it was closed in the meantime. `onAsking` reports that the dialog is open or that
 * the action is in progress: the button must stay mounted until then, otherwise the result is not shown.
 */
export function ConfirmButton({
  label,
  title,
  children,
  confirm,
  type,
  kind = 'plain',
  confirmKind,
  icon,
  small,
  disabled,
  hotkey,
  run,
  onAsking,
}: {
  label: ReactNode
  title: ReactNode
  children: ReactNode
  confirm: string
  type?: string
  kind?: ButtonProps['kind']
  confirmKind?: ButtonProps['kind']
  icon?: ReactNode
  small?: boolean
  disabled?: boolean
  /** The key that opens the dialog. */
  hotkey?: string
  run: () => Promise<unknown>
  onAsking?: (asking: boolean) => void
}) {
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const asking = open || busy
  useEffect(() => onAsking?.(asking), [onAsking, asking])
  const ready = type === undefined || typed === type
  const change = (to: boolean) => {
    setOpen(to)
    setTyped('')
    setError(undefined)
  }
  useCommand(typeof label === 'string' && !disabled ? label : undefined, () => change(true), hotkey)
  const act = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await run()
      change(false)
    } catch (problem) {
      setError(problem)
      setOpen(true)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <Button kind={kind} icon={icon} small={small} disabled={disabled} onClick={() => change(true)}>
        {label}
      </Button>
      <Dialog open={open} onOpenChange={change} title={title}>
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            if (ready && !busy) void act()
          }}
        >
          {children}
          {type !== undefined && (
            <label className="flex flex-col gap-1">
              <span>
                Type <strong className="font-mono">{type}</strong> to confirm
              </span>
              <input
                className="field font-mono"
                value={typed}
                onChange={(e) => setTyped(e.target.value)}
                autoComplete="off"
                spellCheck={false}
              />
            </label>
          )}
          <Problem error={error} />
          <div className="flex justify-end gap-2">
            <Button onClick={() => change(false)}>Back</Button>
            <Button
              type="submit"
              kind={confirmKind ?? (kind === 'danger' ? 'danger' : 'main')}
              busy={busy}
              disabled={!ready || busy}
            >
              {confirm}
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  )
}
