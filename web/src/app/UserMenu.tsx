import { Menu } from '@base-ui/react/menu'
import { useNavigate } from '@tanstack/react-router'
import { CircleUser } from 'lucide-react'
import { useState } from 'react'
import type { Me } from '../api/client'
import { asProblem, ProblemError, send } from '../api/client'
import { buttonClass } from '../ui/Button'
import { useApp } from './context'
import type { Theme } from './theme'
import { chooseTheme, chosenTheme } from './theme'

const item = 'data-[highlighted]:bg-hover flex h-8 cursor-default items-center gap-2 rounded px-2 outline-none'

/** The name of a service account without the words that all have in front. */
export function shortName(name: string): string {
  return name.replace(/^system:serviceaccount:/, '')
}

/** The menu of the signed-in user. */
export function UserMenu({
  me,
  onHelp,
  onProblem,
}: {
  me?: Me
  onHelp: () => void
  onProblem: (error: unknown) => void
}) {
  const { client, live } = useApp()
  const navigate = useNavigate()
  const [theme, setTheme] = useState<Theme>(chosenTheme)
  const signOut = async () => {
    try {
      await send('DELETE', '/api/v1/session')
    } catch (error) {
      // The cookie still exists: the next user of this browser must not find it after the web UI showed that no user is signed in.
      onProblem(new ProblemError({ ...asProblem(error), title: 'You are still signed in' }))
      return
    }
    live.stop()
    await navigate({ to: '/signin' })
    client.clear()
  }
  return (
    <Menu.Root>
      <Menu.Trigger
        className={`${buttonClass('bare')} max-w-40 min-w-0 md:justify-start md:px-2`}
        aria-label={`You are ${me?.name ?? 'not known'}`}
        title={me?.name}
      >
        <CircleUser aria-hidden className="size-4 shrink-0" />
        <span className="hidden truncate md:inline">{me ? shortName(me.name) : '…'}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="z-50">
          <Menu.Popup className="panel max-w-[calc(100vw-1rem)] min-w-52 p-1 shadow-lg outline-none">
            <div className="border-line mb-1 border-b px-2 pt-1 pb-2">
              <p className="font-medium break-all">{me?.name}</p>
              {me?.real && <p className="text-muted text-sm break-all">asked for by {me.real}</p>}
              {me?.groups && <p className="text-muted max-w-64 text-sm break-words">{me.groups.join(', ')}</p>}
            </div>
            <Menu.RadioGroup
              aria-label="Theme"
              value={theme}
              onValueChange={(value: Theme) => {
                chooseTheme(value)
                setTheme(value)
              }}
            >
              {(['system', 'light', 'dark'] as const).map((t) => (
                <Menu.RadioItem key={t} value={t} className={item} closeOnClick={false}>
                  <Menu.RadioItemIndicator keepMounted className="w-4 data-[unchecked]:invisible">
                    •
                  </Menu.RadioItemIndicator>
                  {{ system: 'As the system has it', light: 'Light', dark: 'Dark' }[t]}
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator className="border-line my-1 border-t" />
            <Menu.Item className={item} onClick={onHelp}>
              Keys
            </Menu.Item>
            <Menu.Item className={item} onClick={() => void signOut()}>
              Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
