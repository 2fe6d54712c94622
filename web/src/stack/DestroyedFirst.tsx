import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Stack } from '../api/client'
import { ProblemError } from '../api/client'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import type { StackGraph } from '../views/graph/stacks'
import { graphOfStacks, idOf } from '../views/graph/stacks'
import { destroyedFirst, stacksOf } from './depends'

/** What a destroy of a Stack waits for, of the Stacks that the user can list. */
export function DestroyWaitsFor({ stack }: { stack: Stack }) {
  const all = useQuery(stacksOf(stack.namespace))
  if (all.error instanceof ProblemError && all.error.status === 403) return null
  if (all.error) return <Problem error={all.error} retry={() => void all.refetch()} />
  if (!all.data) return <Skeletons lines={1} label="Loading the Stacks that depend on it" />
  return <DestroyedFirst stack={stack} graph={graphOfStacks(all.data)} />
}

const mostNamed = 20

/** The Stacks that a destroy of a Stack waits for; nothing if there are none. */
export function DestroyedFirst({ stack, graph }: { stack: Stack; graph: StackGraph }) {
  const first = destroyedFirst(graph, idOf(stack))
  if (first.length === 0) return null
  return (
    <div>
      <p>
        Nothing is destroyed before{' '}
        {first.length === 1 ? 'the Stack that depends' : `the ${first.length} Stacks that depend`} on it{' '}
        {first.length === 1 ? 'is' : 'are'} destroyed or deleted{first.length > 1 && ', in this order'}. Cairn does not
        destroy {first.length === 1 ? 'it' : 'them'} by itself.
      </p>
      <ol className="mt-1 list-decimal pl-6" aria-label="Destroyed first">
        {first.slice(0, mostNamed).map((n) => (
          <li key={n.id}>
            <Link to="/stacks/$namespace/$name" params={{ namespace: n.namespace, name: n.name }} className="link">
              {n.name}
            </Link>
            {n.stack?.deleted && ', which is being deleted'}
          </li>
        ))}
      </ol>
      {first.length > mostNamed && <p>and {first.length - mostNamed} more</p>}
    </div>
  )
}
