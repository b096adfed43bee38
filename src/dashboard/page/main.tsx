/** The page: its frame, and the screen that the address names. */
import { render, type JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { about, type About } from './about.ts'
import { get } from './api.ts'
import { BulkOperations, startBulk } from './bulk.tsx'
import { ChartsScreen } from './charts-screen.tsx'
import { Dialogs, sayError } from './dialog.tsx'
import { DeadScreen } from './failures.tsx'
import { FindScreen } from './find.tsx'
import { JobScreen } from './job-screen.tsx'
import { JobsScreen } from './jobs-screen.tsx'
import { Help, screens, showHelp, startKeys } from './keys.tsx'
import { connection, counts, startLive, storeProblem } from './live.ts'
import { startNotify } from './notify.tsx'
import { OverviewScreen } from './overview-screen.tsx'
import { Palette, showPalette, startPalette } from './palette.tsx'
import { Empty } from './parts.tsx'
import { QueueScreen } from './queue-screen.tsx'
import { dropToken, link, place } from './router.ts'
import { SchedulesScreen } from './schedules-screen.tsx'
import { Scope } from './scope.tsx'
import { Views } from './views.tsx'
import { WorkersScreen } from './workers-screen.tsx'
import { number } from './words.ts'

function Screen(): JSX.Element {
  const { screen, name } = place.value
  if (screen === '') return <OverviewScreen />
  if (screen === 'jobs') return <JobsScreen />
  if (screen === 'job') return <JobScreen key={name} id={name} />
  if (screen === 'find') return <FindScreen />
  if (screen === 'queue') return <QueueScreen key={name} type={name} />
  if (screen === 'dead') return <DeadScreen />
  if (screen === 'workers') return <WorkersScreen />
  if (screen === 'schedules') return <SchedulesScreen />
  if (screen === 'charts') return <ChartsScreen />
  return (
    <Empty title="There is no such screen">
      <a href={link('')}>To the overview</a>
    </Empty>
  )
}

const connectionWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost',
  failing: 'the store fails',
} as const

function Navigation(): JSX.Element {
  const { screen } = place.value
  const dead = counts.value?.dead ?? 0
  const state = connection.value === 'live' && storeProblem.value !== null ? 'failing' : connection.value
  const current = screen === 'job' ? 'jobs' : screen === 'queue' ? '' : screen
  return (
    <nav aria-label="Screens">
      <a class="brand" href={link('')}>
        {about.value.title}
      </a>
      <button type="button" class="quiet find" onClick={showPalette}>
        Search <kbd>Ctrl K</kbd>
      </button>
      <Scope />
      {screens.map(({ screen: each, title, key }) => (
        <a key={key} href={link(each)} aria-current={current === each ? 'page' : undefined}>
          {title}
          {each === 'dead' && dead > 0 && <span class="badge">{number(dead)}</span>}
        </a>
      ))}
      <Views />
      <div class="foot">
        <span class={`connection ${state}`} role="status">
          <i />
          {connectionWords[state]}
        </span>
        {about.value.role === 'read' && <span class="muted">read only</span>}
        <button type="button" class="quiet" onClick={showHelp}>
          Keys <kbd>?</kbd>
        </button>
      </div>
    </nav>
  )
}

function App(): JSX.Element {
  const { screen, name } = place.value
  useEffect(() => {
    const shown = name === '' ? screens.find((each) => each.screen === screen)?.title : name
    document.title = [shown, about.value.title].filter((each) => each !== undefined).join(' · ')
    scrollTo(0, 0)
  }, [screen, name])
  return (
    <>
      <Navigation />
      <main>
        {storeProblem.value !== null && (
          <p class="warning" role="alert">
            The store does not answer: {storeProblem.value} What is shown may be old.
          </p>
        )}
        <BulkOperations />
        <Screen />
      </main>
      <Help />
      <Palette />
      <Dialogs />
    </>
  )
}

document.body.classList.add('jobchart-auto')
dropToken()
startKeys()
startPalette()
startLive()
startBulk()
startNotify()
get<About>('').then((answer) => (about.value = answer), sayError)
const root = document.querySelector('#app')
if (root !== null) render(<App />, root)
