import { CirclePause, CirclePlay, Eye, Play, RotateCcw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Stack } from '../api/client'
import type { StackObject } from '../api/kinds'
import type { Access } from '../api/queries'
import { useAction } from '../api/queries'
import { ConfirmButton, useAsking } from '../ui/Dialog'
import { resourceCount } from '../views/state/words'
import type { StackAction } from './actions'
import { stackActions } from './actions'
import { DestroyWaitsFor } from './DestroyedFirst'

type Spec = StackObject['spec']
type Asked = {
  label: string
  hotkey?: string
  icon: ReactNode
  confirm: string
  /** Destroys is whether a retry destroys. */
  says: (spec: Spec, resources: number, destroys?: boolean) => ReactNode
}

/** What follows a plan by the rules of the Stack. A policy can require an approval too. */
function after(spec: Spec, destroys = false): ReactNode {
  const kinds = spec.requireApprovalFor ?? []
  if (spec.apply === 'Never') return 'The plan is not applied while spec.apply is Never.'
  if (spec.apply === 'Manual' || spec.preventSelfApproval || (destroys && kinds.includes('Delete')))
    return 'The plan then waits for an approval.'
  if (destroys) return <strong>No approval is required.</strong>
  if (kinds.length > 0)
    return `The plan then waits for an approval if it has changes of these kinds: ${kinds.join(', ')}.`
  return 'The plan is applied immediately, without an approval.'
}

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
    says: (s, resources, destroys) =>
      destroys ? (
        asked.destroy.says(s, resources)
      ) : (
        <>A Run retries what failed or was canceled, with a new plan. {after(s)}</>
      ),
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
    says: (s, resources) => (
      <>
        A Run destroys all of the <strong>{resourceCount(resources)}</strong> that this Stack has. The Stack itself
        stays. {after(s, true)}
      </>
    ),
  },
}

/** The buttons for the actions on a Stack that apply now and that the user can perform. */
export function StackActions({ stack, spec, access }: { stack: Stack; spec: Spec; access: Access }) {
  const act = useAction('stacks', stack.namespace, stack.name)
  // A dialog stays open until it is closed, even if the Stack changes in the meantime.
  const [asking, onAsking] = useAsking<StackAction>()
  const all = stackActions(stack, spec.deletionPolicy, access)
  const shown = (Object.keys(asked) as StackAction[]).filter((a) => all.includes(a) || a === asking)
  return shown.map((action) => {
    const { label, hotkey, icon, confirm, says } = asked[action]
    const destroys = action === 'destroy' || (action === 'retry' && stack.retry?.operation === 'Destroy')
    return (
      <ConfirmButton
        key={action}
        label={label}
        hotkey={hotkey}
        onAsking={onAsking(action)}
        icon={icon}
        kind={destroys ? 'danger' : 'plain'}
        title={`${label} ${stack.namespace}/${stack.name}?`}
        confirm={confirm}
        type={destroys ? stack.name : undefined}
        run={() =>
          act.mutateAsync({ action: action === 'retry' ? `retry?operation=${destroys ? 'Destroy' : 'Apply'}` : action })
        }
      >
        <p>{says(spec, stack.resources, destroys)}</p>
        {destroys && <DestroyWaitsFor stack={stack} />}
      </ConfirmButton>
    )
  })
}
