import { KindList } from '../list/KindList'
import { Empty } from '../ui/Empty'
import { PullCard, pullColumns } from './pullrows'

/** The pull requests of all Repositories, the last updated first. */
export default function PullRequests() {
  return (
    <KindList
      kind="pullrequests"
      columns={pullColumns}
      card={(pull) => <PullCard pull={pull} />}
      none={
        <Empty title="No pull requests, or you cannot view them">
          Cairn plans the pull requests of a Repository with <code className="font-mono">spec.pullRequests</code>.
        </Empty>
      }
    />
  )
}
