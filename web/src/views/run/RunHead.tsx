import type { ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import type { Detail } from '../../api/kinds'
import { condition } from '../../api/kinds'
import { Badge, PhaseBadge } from '../../ui/Badge'
import { CopyButton } from '../../ui/CopyButton'
import { PageHead } from '../../ui/Page'
import { RunDuration } from '../../ui/RunDuration'
import { Ago, useNow } from '../../ui/Time'
import { CommitLink } from '../CommitLink'
import { safe } from '../text/escape'
import { approvalOf, phaseOf } from './actions'
import { revision, short, waitsFor } from './words'

/** What a Run is, why it is there, and what it waits for. */
export function RunHead({
  detail,
  repository,
  actions,
}: {
  detail: Detail<'runs'>
  repository: string | undefined
  actions: ReactNode
}) {
  const now = useNow()
  const run = detail.object
  const { metadata, spec, status } = run
  const said = condition(run, 'Succeeded')
  const waits = waitsFor(run, now.getTime())
  const { namespace } = metadata
  return (
    <PageHead
      title={<span className="font-mono">{metadata.name}</span>}
      actions={actions}
      over={
        <>
          {spec.pullRequest?.newStack ? (
            `New Stack ${spec.stack.name}`
          ) : (
            <Link className="link" to="/stacks/$namespace/$name" params={{ namespace, name: spec.stack.name }}>
              Stack {spec.stack.name}
            </Link>
          )}{' '}
          in {namespace}
        </>
      }
      badge={
        <>
          <PhaseBadge phase={phaseOf(run)} />
          {spec.operation !== 'Apply' && (
            <Badge tone={spec.operation === 'Destroy' ? 'bad' : 'none'}>{spec.operation}</Badge>
          )}
        </>
      }
    >
      <p role="status" className="break-words">
        {waits ? safe(waits) : safe(said?.message ?? 'It was just created.')}
      </p>
      <dl className="panel flex flex-wrap gap-x-8 gap-y-2 p-3">
        <Fact name="Trigger" wide>
          {spec.cause.type}
          {spec.cause.message && `: ${safe(spec.cause.message)}`}
          {spec.cause.by && !spec.cause.message?.includes(spec.cause.by) && (
            <span className="text-muted"> by {safe(spec.cause.by)}</span>
          )}
        </Fact>
        {spec.pullRequest && (
          <Fact name="Pull request">
            <Link
              to="/pullrequests/$namespace/$name"
              params={{ namespace: spec.pullRequest.namespace, name: spec.pullRequest.name }}
              className="link"
            >
              {spec.pullRequest.namespace}/{spec.pullRequest.name}
            </Link>
          </Fact>
        )}
        {spec.revision && (
          <Fact name="Revision">
            <Digest text={spec.revision}>
              <CommitLink repository={repository} revision={spec.revision}>
                {safe(revision(spec.revision))}
              </CommitLink>
            </Digest>
          </Fact>
        )}
        <Fact name="Inputs">
          <Digest text={spec.inputsDigest}>{safe(short(spec.inputsDigest))}</Digest>
        </Fact>
        <Fact name="Created">
          <Ago at={metadata.creationTimestamp} />
        </Fact>
        <Fact name={status?.finishedAt ? 'Duration' : 'Elapsed'}>
          <RunDuration run={detail.row} beside />
          {(status?.retries ?? 0) > 0 && <span className="text-muted">, {status?.retries} tried again</span>}
        </Fact>
        {approvalOf(detail.object) && (
          <Fact name="Approved">
            <Approved detail={detail} />
          </Fact>
        )}
        {spec.rejection && (
          <Fact name="Rejected" wide>
            by {safe(spec.rejection.by)}
            {spec.rejection.reason && `: ${safe(spec.rejection.reason)}`}
          </Fact>
        )}
        {spec.cancel && <Fact name="Canceled">by {safe(spec.canceledBy ?? 'an unknown user')}</Fact>}
      </dl>
    </PageHead>
  )
}

function Approved({ detail }: { detail: Detail<'runs'> }) {
  const { status } = detail.object
  const approval = approvalOf(detail.object)
  if (!approval) return null
  const from = approval === status?.carriedApproval ? status.carriedApproval : undefined
  const applied = status?.attempts?.findLast((a) => a.phase === 'Apply' && a.finishedAt && !a.failure)
  return (
    <>
      by {safe(approval.by)}
      {from?.pullRequest && ` in pull request ${from.pullRequest.number}`}
      {from?.stage && ` in stage ${from.stage.name} (Run ${from.stage.run})`}
      {status?.plan && approval.planDigest !== status.plan.digest && (
        <span className="text-warn">, of an earlier plan; not valid for this one</span>
      )}
      {applied && (
        <>
          , applied <Ago at={applied.finishedAt} />
        </>
      )}
    </>
  )
}

function Digest({ text, children }: { text: string; children: ReactNode }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <span className="truncate font-mono" title={safe(text)}>
        {children}
      </span>
      <CopyButton text={text} label={`Copy ${safe(text)}`} />
    </span>
  )
}

function Fact({ name, wide, children }: { name: string; wide?: boolean; children: ReactNode }) {
  return (
    <div className={wide ? 'min-w-0 max-w-full basis-full sm:basis-auto' : 'min-w-0'}>
      <dt className="text-muted text-xs">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  )
}
