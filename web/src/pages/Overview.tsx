import { getRouteApi } from '@tanstack/react-router'
import { ActivityChart } from '../overview/ActivityChart'
import { Health } from '../overview/Health'
import { NeedsYou } from '../overview/NeedsYou'
import { PageHead, useTitle } from '../ui/Page'

const route = getRouteApi('/app/')

/** What requires a user to act, the state of all Stacks, and recent Runs. */
export default function Overview() {
  useTitle('Overview')
  const { since = '168h' } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <>
      <PageHead title="Overview" />
      <Health />
      <NeedsYou />
      <ActivityChart since={since} onSince={(to) => void navigate({ search: { since: to }, replace: true })} />
    </>
  )
}
