import type { RunObject } from '../../api/kinds'
import { Badge } from '../../ui/Badge'
import { safe } from '../text/escape'

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>

/** Whether a script applies the plan, the findings of policies, and resources that could not be imported. */
export function Findings({ plan }: { plan: Plan }) {
  const policy = plan.policy
  const findings = policy?.findings ?? []
  const required = policy?.approvalRequired ?? 0
  const more = policy ? policy.denied + required + policy.warned - findings.length : 0
  const orphans = plan.untracked ?? []
  return (
    <>
      {plan.script && (
        <div className="border-warn/50 bg-warnbg mb-3 rounded-md border p-2.5">
          <p className="font-medium">A script of spec.commands replaces the apply of the engine.</p>
        </div>
      )}
      {policy && (
        <div className="panel mb-3 p-2.5">
          <p>
            <span className="font-medium">{policy.checked === 1 ? '1 policy' : `${policy.checked} policies`}</span>:{' '}
            {[
              policy.denied > 0 && `${policy.denied} denied`,
              required > 0 && (required === 1 ? '1 requires approval' : `${required} require approval`),
              policy.warned > 0 && (policy.warned === 1 ? '1 warning' : `${policy.warned} warnings`),
            ]
              .filter(Boolean)
              .join(', ') || 'no findings'}
          </p>
          {findings.length > 0 && (
            <ul className="mt-1 flex flex-col gap-1">
              {findings.map((f, i) => (
                <li key={i} className="flex flex-wrap gap-x-2">
                  <Badge tone={f.action === 'Deny' ? 'bad' : 'warn'}>
                    {f.action === 'RequireApproval' ? 'Approval required' : f.action}
                  </Badge>
                  <span className="min-w-0 break-words">{safe(f.message)}</span>
                  <span className="text-muted font-mono text-xs break-all">{safe(f.policy)}</span>
                </li>
              ))}
            </ul>
          )}
          {more > 0 && <p className="text-muted text-sm">and {more} more</p>}
        </div>
      )}
      {orphans.length > 0 && (
        <div className="border-warn/50 bg-warnbg mb-3 rounded-md border p-2.5">
          <p className="font-medium">
            These resources exist but are not in the state: the apply may create them again.
          </p>
          <ul>
            {orphans.map((o) => (
              <li key={o.address}>
                <span className="font-mono break-all">{safe(o.address)}</span>: {safe(o.reason)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
