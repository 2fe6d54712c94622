import { useQuery } from '@tanstack/react-query'
import { objectQuery } from '../api/queries'
import { CopyButton } from '../ui/CopyButton'
import { Empty } from '../ui/Empty'
import { safe, safeText } from '../views/text/escape'

/** An output as it is shown: a text as it is, all else as JSON. */
export function outputText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

/** The outputs of a Stack. Of sensitive outputs, only the names are shown. */
export function Outputs({
  namespace,
  name,
  outputs,
}: {
  namespace: string
  name: string
  outputs: Record<string, unknown>
}) {
  // The State contains all names. Users who cannot view the State see the other outputs.
  const state = useQuery({ ...objectQuery('states', namespace, name), retry: false })
  const names = [...new Set([...Object.keys(outputs), ...Object.keys(state.data?.object.status?.outputs ?? {})])].sort()
  if (names.length === 0)
    return <Empty title="No outputs">The outputs of the code are shown here after the first apply.</Empty>
  return (
    <dl className="panel divide-line divide-y">
      {names.map((n) => (
        <div key={n} className="flex flex-col gap-x-4 gap-y-0.5 p-2.5 sm:flex-row">
          <dt className="w-56 shrink-0 font-mono text-sm font-medium break-words">{safe(n)}</dt>
          <dd className="flex min-w-0 grow items-start gap-1">
            {n in outputs ? (
              <>
                <pre className="max-h-64 min-w-0 grow overflow-auto font-mono text-sm whitespace-pre-wrap">
                  {safeText(outputText(outputs[n]))}
                </pre>
                <CopyButton text={outputText(outputs[n])} label={`Copy ${n}`} />
              </>
            ) : (
              <span className="text-muted">sensitive, or too large to be shown</span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
