import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Stack } from '../api/client'
import { ProblemError } from '../api/client'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import type { StackNode, UsedOutput } from '../views/graph/stacks'
import { graphOfStacks, idOf, nameIn, notFound, outputsOf } from '../views/graph/stacks'
import { outputsText } from '../views/graph/words'
import { safe } from '../views/text/escape'
import { destroyedFirst, stacksOf } from './depends'
import { DestroyedFirst } from './DestroyedFirst'

/**
 * What goes before a Stack and what comes after it. A user who cannot list Stacks sees only the names that the Stack itself has, whether or
 * not they exist.
 */
export function Dependencies({ stack }: { stack: Stack }) {
  const all = useQuery(stacksOf(stack.namespace))
  const denied = all.error instanceof ProblemError && all.error.status === 403
  if (all.error && !denied) return <Problem error={all.error} retry={() => void all.refetch()} />
  if (!all.data && !denied) return <Skeletons label="Loading dependencies" />
  const others = (all.data ?? []).filter((s) => s.name !== stack.name)
  const graph = graphOfStacks([stack, ...others])
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]))
  const { uses, usedBy } = nodes.get(idOf(stack))!
  const found = (ids: string[]) => ids.flatMap((id) => nodes.get(id) ?? [])
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <List
        title="Depends on"
        none="No dependencies."
        items={found(uses)}
        listed={(n) => !denied && n.namespace === stack.namespace}
        nameOf={(n) => nameIn(stack.namespace, n.id)}
        outputs={(n) => outputsOf(stack, nameIn(stack.namespace, n.id))}
      />
      {denied ? (
        <section>
          <h3 className="mb-1 font-medium">Required by</h3>
          <p className="text-muted">You cannot list the Stacks of this namespace, so their states are not shown.</p>
        </section>
      ) : (
        <List
          title="Required by"
          none="No other Stack depends on it."
          items={found(usedBy)}
          outputs={(n) => (n.stack ? outputsOf(n.stack, stack.name) : [])}
        />
      )}
      {!denied && destroyedFirst(graph, idOf(stack)).length > 0 && (
        <section className="md:col-span-2">
          <h3 className="mb-1 font-medium">Before a destroy</h3>
          <DestroyedFirst stack={stack} graph={graph} />
          <p className="text-muted mt-1">
            A deletion of this Stack waits for them too, unless spec.deletionPolicy is Orphan or it has no resources:
            then it is deleted, and they have the reason DependencyNotFound before their next Runs.
          </p>
        </section>
      )}
      <p className="md:col-span-2">
        <Link to="/graph" search={{ focus: idOf(stack) }} className="link">
          See them in the graph
        </Link>
      </p>
    </div>
  )
}

function List({
  title,
  none,
  items,
  listed = () => true,
  nameOf = (n) => n.name,
  outputs,
}: {
  title: string
  none: string
  items: StackNode[]
  listed?: (node: StackNode) => boolean
  nameOf?: (node: StackNode) => string
  outputs: (node: StackNode) => UsedOutput[]
}) {
  return (
    <section>
      <h3 className="mb-1 font-medium">{title}</h3>
      {items.length === 0 ? (
        <p className="text-muted">{none}</p>
      ) : (
        <ul className="panel divide-line divide-y">
          {items.map((n) => (
            <li key={n.id} className="flex flex-wrap items-center gap-x-2 p-2">
              {n.stack ? (
                <Link
                  to="/stacks/$namespace/$name"
                  params={{ namespace: n.namespace, name: n.name }}
                  className="link min-w-0 font-medium break-words"
                >
                  {n.name}
                </Link>
              ) : (
                <span className="min-w-0 font-medium break-words">{safe(nameOf(n))}</span>
              )}
              {n.stack ? <ReadyBadge of={n.stack} /> : listed(n) && <Badge tone="bad">{notFound}</Badge>}
              <span className="text-muted min-w-0 flex-1 truncate text-sm">
                {n.stack?.message && safe(n.stack.message)}
              </span>
              <span className="text-muted w-full text-sm break-words">{outputsText(outputs(n))}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
