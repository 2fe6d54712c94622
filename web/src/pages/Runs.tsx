import { BulkBar } from '../bulk/BulkBar'
import { KindList } from '../list/KindList'
import { Empty } from '../ui/Empty'
import { runColumns, RunCard } from './runrows'

/** The Runs of all Stacks, newest first. */
export default function Runs() {
  return (
    <KindList
      kind="runs"
      columns={runColumns}
      card={(run) => <RunCard run={run} />}
      none={<Empty title="No Runs that you can view">A Stack creates a Run when its code or its spec changes.</Empty>}
      below={(list) => <BulkBar kind="runs" actions={['approve', 'retry']} {...list} />}
    />
  )
}
