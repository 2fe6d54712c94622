import { CirclePause, CirclePlay, Eye, Play, RotateCcw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Run, Stack } from '../api/client'
import type { Access } from '../api/queries'
import { useAction } from '../api/queries'
import { ConfirmButton, useAsking } from '../ui/Dialog'
import type { DeletionPolicy, StackAction } from './actions'
import { stackActions } from './actions'
import { DestroyWaitsFor } from './DestroyedFirst'

type Asked = { label: string; hotkey?: string; icon: ReactNode; confirm: string; says: (stack: Stack) => ReactNode }

const after = (stack: Stack) =>
  stack.apply === 'Manual'
    ? 'The plan then waits for an approval.'
    : 'The plan is applied immediately, without an approval.'

const asked: Record<StackAction, Asked> = {
  plan: {
    label: 'Plan',
    hotkey: 'p',
    icon: <Eye aria-hidden className="size-4" />,
    confirm: 'Plan',
    says: () => 'A Run plans the declared configuration. It applies nothing.',
  },
  apply: {
    label: 'Apply',
    hotkey: 'a',
    icon: <Play aria-hidden className="size-4" />,
    confirm: 'Apply',
    says: (s) => <>A Run plans and applies the declared configuration. {after(s)}</>,
  },
  retry: {
    label: 'Retry',
    hotkey: 't',
    icon: <RotateCcw aria-hidden className="size-4" />,
    confirm: 'Retry',
    says: (s) => <>A Run retries what failed or was canceled, with a new plan. {after(s)}</>,
  },
  suspend: {
    label: 'Suspend',
    icon: <CirclePause aria-hidden className="size-4" />,
    confirm: 'Suspend',
    says: () => 'No Run of this Stack starts until it is resumed. Operations in progress continue.',
  },
  resume: {
    label: 'Resume',
    icon: <CirclePlay aria-hidden className="size-4" />,
    confirm: 'Resume',
    says: () => 'Changes since the Stack was suspended are planned, and applied according to spec.apply.',
  },
  destroy: {
    label: 'Destroy',
    icon: <Trash2 aria-hidden className="size-4" />,
    confirm: 'Destroy everything',
    says: (s) => (
      <>
        A Run destroys all of the <strong>{s.resources} resources</strong> that this Stack has. The Stack itself stays.{' '}
        {s.apply === 'Manual' ? 'The plan then waits for an approval.' : <strong>No approval is required.</strong>}
      </>
    ),
  },
}

/** The buttons for the actions on a Stack that apply now and that the user can perform. */
export function StackActions({
  stack,
  deletionPolicy,
  runs,
  access,
}: {
  stack: Stack
  deletionPolicy?: DeletionPolicy
  runs: Run[]
  access: Access
}) {
  const act = useAction('stacks', stack.namespace, stack.name)
  // A dialog stays open until it is closed, even if the Stack changes in the meantime.
  const [asking, onAsking] = useAsking<StackAction>()
  const all = stackActions(stack, deletionPolicy, runs, access)
  const shown = (Object.keys(asked) as StackAction[]).filter((a) => all.includes(a) || a === asking)
  return shown.map((action) => {
    const { label, hotkey, icon, confirm, says } = asked[action]
    return (
      <ConfirmButton
        key={action}
        label={label}
        hotkey={hotkey}
        onAsking={onAsking(action)}
        icon={icon}
        kind={action === 'destroy' ? 'danger' : 'plain'}
        title={`${label} ${stack.namespace}/${stack.name}?`}
        confirm={confirm}
        type={action === 'destroy' ? stack.name : undefined}
        run={() => act.mutateAsync({ action })}
      >
        <p>{says(stack)}</p>
        {action === 'destroy' && <DestroyWaitsFor stack={stack} />}
      </ConfirmButton>
    )
  })
}
