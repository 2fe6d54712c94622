import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Stack } from '../api/client'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import { safe } from '../views/text/escape'
import type { UsedOutput } from '../views/graph/stacks'
import { outputsOf } from '../views/graph/stacks'
import { outputsText } from '../views/graph/words'
import { dependencies, stacksOf } from './depends'

/** What goes before a Stack and what comes after it. */
export function Dependencies({ stack }: { stack: Stack }) {
  const all = useQuery(stacksOf(stack.namespace))
  if (all.error) return <Problem error={all.error} retry={() => void all.refetch()} />
  if (!all.data) return <Skeletons label="Loading dependencies" />
  const { before, after } = dependencies(stack.name, stack.uses ?? [], all.data)
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <List
        title="Depends on"
        none="No dependencies."
        items={before.map((b) => ({ ...b, outputs: outputsOf(stack, b.name) }))}
        namespace={stack.namespace}
      />
      <List
        title="Required by"
        none="No other Stack depends on it."
        items={after.map((s) => ({ name: s.name, stack: s, outputs: outputsOf(s, stack.name) }))}
        namespace={stack.namespace}
      />
      <p className="md:col-span-2">
        <Link to="/graph" className="link">
          See all in the graph
        </Link>
      </p>
    </div>
  )
}

function List({
  title,
  none,
  items,
  namespace,
}: {
  title: string
  none: string
  items: { name: string; stack?: Stack; outputs: UsedOutput[] }[]
  namespace: string
}) {
  return (
    <section>
      <h3 className="mb-1 font-medium">{title}</h3>
      {items.length === 0 ? (
        <p className="text-muted">{none}</p>
      ) : (
        <ul className="panel divide-line divide-y">
          {items.map(({ name, stack, outputs }) => (
            <li key={name} className="flex flex-wrap items-center gap-x-2 p-2">
              <Link
                to="/stacks/$namespace/$name"
                params={{ namespace, name }}
                className="link min-w-0 font-medium break-words"
              >
                {name}
              </Link>
              {stack ? <ReadyBadge of={stack} /> : <Badge tone="bad">Missing</Badge>}
              <span className="text-muted min-w-0 flex-1 truncate text-sm">
                {stack?.message && safe(stack.message)}
              </span>
              <span className="text-muted w-full text-sm break-words">{outputsText(outputs)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
