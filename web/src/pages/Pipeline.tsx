import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { asYAML } from '../stack/spec'
import type { PipelineObject } from '../api/kinds'
import { accessQuery, objectQuery, useAction } from '../api/queries'
import { SmallTable } from '../list/SmallTable'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Button } from '../ui/Button'
import { CopyButton } from '../ui/CopyButton'
import { ConfirmButton } from '../ui/Dialog'
import { Empty } from '../ui/Empty'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Ago } from '../ui/Time'
import { inWords, stageTone } from '../ui/tone'
import { CommitLink } from '../views/CommitLink'
import { Events } from '../views/Events'
import { safe, safeText } from '../views/text/escape'
import { shortRevision } from './words'

const route = getRouteApi('/app/pipelines/$namespace/$name')

type Status = NonNullable<PipelineObject['status']>
type Stage = NonNullable<Status['stages']>[number]
type Release = NonNullable<Status['releases']>[number]

/** A Pipeline: its releases as rows, and its stages as columns, with a button that promotes. */
export default function Pipeline() {
  const { namespace, name } = route.useParams()
  useTitle(`${name} · Pipelines`)
  const detail = useQuery(objectQuery('pipelines', namespace, name))
  const access = useQuery({ ...accessQuery('pipelines', namespace, name), retry: false })
  const { row, object } = detail.data ?? {}
  const over = (
    <>
      <Link to="/pipelines" className="link">
        Pipelines
      </Link>{' '}
      / {namespace}
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the Pipeline" />
  }
  const releases = object.status?.releases ?? []
  const { ref, repository } = object.spec
  const of = `${repository.namespace ?? namespace}/${repository.name}`
  const cell = (release: Release, stage: string) => (
    <Cell object={object} release={release} stage={stage} may={access.data?.promote} />
  )
  const yaml = asYAML('Pipeline', object)
  return (
    <>
      <PageHead title={name} over={over} badge={<ReadyBadge of={row} />} />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <div className="panel mb-5">
        {row.message && <p className="border-line border-b p-3 break-words">{safe(row.message)}</p>}
        <Facts
          facts={[
            ['Repository', safe(of)],
            ['Branch', ref ? safe(ref) : 'that of the Repository'],
            ['Releases', object.spec.releases],
            ['Created', <Ago key="created" at={row.created} />],
          ]}
        />
      </div>
      <Section title="Stages">
        <ul className="divide-line divide-y">
          {object.spec.stages.map((s) => (
            <StageLine key={s.name} name={s.name} promote={s.promote ?? 'Manual'} stage={stageOf(object, s.name)} />
          ))}
        </ul>
      </Section>
      <Section title="Releases">
        {access.data?.promote === false && (
          <p className="border-line text-muted border-b p-3">{missing}, so you cannot promote a release.</p>
        )}
        {releases.length > 0 ? (
          <SmallTable
            label="Releases"
            rows={releases}
            id={(r) => r.commit}
            columns={columns(object, of, cell)}
            card={(r) => (
              <>
                <Commit release={r} repository={of} />
                {object.spec.stages.map((s) => (
                  <span key={s.name} className="flex items-start justify-between gap-2">
                    <span className="text-muted">{s.name}</span>
                    {cell(r, s.name)}
                  </span>
                ))}
              </>
            )}
          />
        ) : (
          <Empty title="No release yet">A commit that changes the code of a Stack of a stage is a release.</Empty>
        )}
      </Section>
      <Section title="Spec" actions={<CopyButton text={yaml} label="Copy the YAML" />}>
        <pre className="overflow-x-auto p-3 text-sm">{safeText(yaml)}</pre>
      </Section>
      <Section title="Events" bare>
        <Events kind="pipelines" namespace={namespace} name={name} />
      </Section>
    </>
  )
}

const missing = 'You need the verbs patch and promote on pipelines'

const stageOf = (object: PipelineObject, name: string): Stage | undefined =>
  object.status?.stages?.find((s) => s.name === name)

/** A stage: what it does with its release, and who holds it. */
function StageLine({ name, promote, stage }: { name: string; promote: string; stage: Stage | undefined }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
      <span className="font-medium">{name}</span>
      <Badge tone={stageTone(stage?.state)}>{inWords(stage?.state ?? 'Waiting')}</Badge>
      <span className="text-muted">{promote}</span>
      {stage && stage.affected > 0 && (
        <span className="text-muted">
          {stage.applied} of {stage.affected} Stacks applied
        </span>
      )}
      {stage?.message && <span className="text-muted break-words">{safe(stage.message)}</span>}
      {stage?.hold && (
        <span className="text-warn break-words">
          held by {safe(stage.hold.by)} <Ago at={stage.hold.at} />
        </span>
      )}
    </li>
  )
}

function Commit({ release, repository }: { release: Release; repository: string }) {
  return (
    <span className="flex min-w-0 flex-col">
      <CommitLink repository={repository} revision={`sha1:${release.commit}`}>
        {shortRevision(release.commit)}
      </CommitLink>
      <span className="truncate">{release.subject && safe(release.subject)}</span>
      <span className="text-muted text-sm">
        {release.author && safe(release.author)} <Ago at={release.createdAt} />
      </span>
    </span>
  )
}

const columns = (
  object: PipelineObject,
  repository: string,
  cell: (release: Release, stage: string) => React.ReactNode,
): ColumnDef<Release>[] => [
  {
    id: 'release',
    header: 'Release',
    cell: ({ row }) => <Commit release={row.original} repository={repository} />,
  },
  ...object.spec.stages.map((s): ColumnDef<Release> => ({
    id: `stage-${s.name}`,
    header: s.name,
    cell: ({ row }) => cell(row.original, s.name),
  })),
]

/** A release in a stage: what the stage does with it, who promoted it and when, and the button that promotes it. */
function Cell(props: { object: PipelineObject; release: Release; stage: string; may: boolean | undefined }) {
  const { object, release, stage, may } = props
  const now = stageOf(object, stage)
  const was = release.stages?.find((s) => s.name === stage)
  const current = now?.release === release.commit
  const next = now?.next === release.commit
  return (
    <span className="flex flex-col items-start gap-0.5 py-1">
      {current && <Badge tone={stageTone(now.state)}>{inWords(now.state)}</Badge>}
      {!current && was && <Badge>{was.completedAt ? 'Completed' : 'Not completed'}</Badge>}
      {was && (
        <span className="text-muted text-sm">
          {was.promotedBy ? `by ${safe(was.promotedBy)} ` : 'automatically '}
          <Ago at={was.promotedAt} />
        </span>
      )}
      {!current && (next || was) && <Promote {...props} back={!next} may={may} />}
    </span>
  )
}

function Promote(props: {
  object: PipelineObject
  release: Release
  stage: string
  back: boolean
  may: boolean | undefined
}) {
  const { object, release, stage, back, may } = props
  const { namespace = '', name = '' } = object.metadata
  const act = useAction('pipelines', namespace, name)
  const short = shortRevision(release.commit)
  const label = back ? 'Promote again' : 'Promote'
  if (!may) {
    return (
      <Button small disabled title={may === false ? missing : undefined}>
        {label}
      </Button>
    )
  }
  return (
    <ConfirmButton
      small
      label={label}
      title={`Promote ${short} to ${stage}?`}
      confirm="Promote"
      run={() => act.mutateAsync({ action: 'promote', body: { stage, release: release.commit } })}
    >
      <p>The Stacks of the stage plan this commit under their own rules for approvals.</p>
      {back && (
        <p>If the release is earlier than that of the stage, the stage gets no release automatically afterwards.</p>
      )}
    </ConfirmButton>
  )
}
