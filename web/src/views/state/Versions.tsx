import { Link } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { useEffect, useRef, useState } from 'react'
import { objectPath, send } from '../../api/client'
import type { Detail } from '../../api/kinds'
import type { Access } from '../../api/queries'
import { refresh } from '../../api/queries'
import { useQueryClient } from '@tanstack/react-query'
import { buttonClass } from '../../ui/Button'
import { Badge } from '../../ui/Badge'
import { ConfirmButton } from '../../ui/Dialog'
import { Empty } from '../../ui/Empty'
import { Ago } from '../../ui/Time'
import { safe } from '../text/escape'
import { short } from '../run/words'
import { size } from './size'

/** The versions of a state that are kept, the newest first. */
export function Versions({ detail, can }: { detail: Detail<'states'>; can: Access }) {
  const { metadata, status } = detail.object
  const { namespace, name } = metadata
  const current = status?.version ?? 0
  const versions = [...(status?.versions ?? [])].reverse()
  if (versions.length === 0) return <Empty title="No versions yet">The first apply writes one.</Empty>

  const cell = 'px-2.5 py-1.5'
  return (
    <div className="panel overflow-x-auto">
      <table className="w-full text-left">
        <thead className="text-muted border-line border-b text-sm">
          <tr>
            <th scope="col" className={`${cell} font-medium`}>
              Version
            </th>
            <th scope="col" className={`${cell} font-medium`}>
              Serial
            </th>
            <th scope="col" className={`${cell} font-medium`}>
              When
            </th>
            <th scope="col" className={`${cell} font-medium`}>
              By
            </th>
            <th scope="col" className={`${cell} hidden font-medium sm:table-cell`}>
              Size
            </th>
            <th scope="col" className={`${cell} hidden font-medium md:table-cell`}>
              SHA-256
            </th>
            <th scope="col" className={cell}>
              <span className="sr-only">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody className="divide-line divide-y">
          {versions.map((v, i) => {
            const before = versions[i + 1]
            return (
              <tr key={v.version}>
                <th scope="row" className={`${cell} font-medium whitespace-nowrap`}>
                  {v.version} {v.version === current && <Badge tone="good">current</Badge>}
                </th>
                <td className={`${cell} tabular-nums`}>{v.serial}</td>
                <td className={cell}>
                  <Ago at={v.at} />
                </td>
                <td className={`${cell} break-words`}>
                  {v.run ? (
                    <Link className="link font-mono" to="/runs/$namespace/$name" params={{ namespace, name: v.run }}>
                      {v.run}
                    </Link>
                  ) : (
                    safe(v.by ?? '')
                  )}
                  {v.run && v.by && <span className="text-muted"> by {safe(v.by)}</span>}
                </td>
                <td className={`${cell} hidden whitespace-nowrap tabular-nums sm:table-cell`}>{size(v.size)}</td>
                <td className={`${cell} hidden font-mono text-xs md:table-cell`} title={v.sha256}>
                  {short(v.sha256)}
                </td>
                <td className={cell}>
                  <div className="flex flex-wrap justify-end gap-1">
                    {before && can.pull !== false && (
                      <Link
                        className={buttonClass('bare', true)}
                        to="/states/$namespace/$name"
                        params={{ namespace, name }}
                        search={{ tab: 'diff', from: before.version, to: v.version }}
                        resetScroll={false}
                      >
                        Diff
                      </Link>
                    )}
                    {v.version !== current && can.rollback && (
                      <Rollback namespace={namespace} name={name} version={v} current={current} />
                    )}
                  </div>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

type RollbackProps = { namespace: string; name: string; version: { version: number; serial: number }; current: number }

/** Goes back to a version, after a question. What was shown as the current one is what is replaced, or nothing is. */
function Rollback({ namespace, name, version: v, current }: RollbackProps) {
  const client = useQueryClient()
  const shownRef = useRef(current)
  const run = async () => {
    const path = objectPath('states', namespace, name, `rollback?current=${shownRef.current}`)
    await send('POST', path, { version: v.version })
    await refresh(client, 'states', namespace, name)
  }
  return (
    <ConfirmButton
      label="Roll back…"
      title={`Go back to version ${v.version} of the state of Stack ${namespace}/${name}?`}
      confirm={`Go back to version ${v.version}`}
      small
      run={run}
    >
      <Question namespace={namespace} name={name} version={v} current={current} shownRef={shownRef} />
    </ConfirmButton>
  )
}

/** The effect of a rollback. It is computed when the dialog opens, and does not change when another version is written. */
function Question({ namespace, name, version: v, current, shownRef }: RollbackProps & { shownRef: RefObject<number> }) {
  const [at] = useState(current)
  useEffect(() => {
    shownRef.current = at
  }, [at, shownRef])
  return (
    <>
      <p>
        A new version is created with the content of version {v.version} (serial {v.serial}); the current one is version{' '}
        {at}. It can be rolled back too.
      </p>
      <p>
        The infrastructure does not change. Cairn then plans the Stack with that state. Newer resources are not in it;
        they still exist, and an apply would create them again. The plan waits for an approval, is reported as drift, or
        is only shown. Cairn applies it without an action of a user only if spec.apply is Automatic and
        spec.drift.onDrift is Apply: then set spec.apply to Manual first, to review it.
      </p>
      <p>
        <Link
          className="link"
          to="/states/$namespace/$name"
          params={{ namespace, name }}
          search={{ tab: 'diff', from: at, to: v.version }}
        >
          What that changes in the state
        </Link>
      </p>
    </>
  )
}
