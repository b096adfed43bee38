/** Schedules as a table: when each fires next and fired last, what is late and what was missed, and its pause. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { ScheduleRecord } from '../../index.ts'
import { about } from './about.ts'
import { post, useResource } from './api.ts'
import { change } from './dialog.tsx'
import { useLive } from './live.ts'
import { Empty, Loaded, QueueLink, Time } from './parts.tsx'
import { jobLink } from './router.ts'
import { scheduleWords } from './schedule-words.ts'
import { matchesText, TableFilters, useTableFilter } from './table-filter.tsx'
import { dateIn, duration, now, number } from './words.ts'

/** A tick may be fired so late, ms. */
const lateMs = 60_000

const lateBy = ({ nextRuns: [next], paused, jitterMs }: ScheduleRecord): number =>
  paused || next === undefined ? 0 : Math.max(0, now.value - next - lateMs - jitterMs)

const chips: Readonly<Record<string, (schedule: ScheduleRecord) => boolean>> = {
  late: (schedule) => lateBy(schedule) > 0,
  missed: ({ missed }) => missed > 0,
  paused: ({ paused }) => paused,
}

export function SchedulesScreen(): JSX.Element {
  const schedules = useResource<{ readonly schedules: readonly ScheduleRecord[] }>('/schedules')
  useLive({
    onTransitions: (transitions) => transitions.some(({ event }) => event === 'ENQUEUE') && schedules.refresh(),
    onReset: schedules.refresh,
  })
  return (
    <>
      <h1>Schedules</h1>
      <Loaded of={schedules}>
        {({ schedules: list }) =>
          list.length === 0 ? (
            <Empty title="No schedules">runtime.schedule(name, spec, job, input) makes one.</Empty>
          ) : (
            <Schedules of={list} refresh={schedules.refresh} />
          )
        }
      </Loaded>
    </>
  )
}

function Schedules({
  of,
  refresh,
}: {
  readonly of: readonly ScheduleRecord[]
  readonly refresh: () => void
}): JSX.Element {
  const { text, chip } = useTableFilter()
  const shown = of
    .filter((each) => chip === null || chips[chip]?.(each) === true)
    .filter(({ name, type, spec, tags }) => matchesText(text, name, type, spec, ...tags))
    .toSorted((a, b) => lateBy(b) - lateBy(a))
  const counts = Object.entries(chips).map(([name, has]) => [name, of.filter(has).length] as const)
  return (
    <>
      <TableFilters label="Schedules" counts={counts} />
      {shown.length === 0 ? (
        <Empty title="No schedule matches" />
      ) : (
        <div class="scroll panel flush">
          <table>
            <thead>
              <tr>
                <th>Schedule</th>
                <th class="wide">Fires</th>
                <th>Next</th>
                <th class="wide">Last</th>
                <th class="num wide">Jobs</th>
                <th class="num">Missed</th>
                {about.value.role === 'admin' && <td />}
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <Schedule key={each.name} of={each} refresh={refresh} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function Schedule({ of, refresh }: { readonly of: ScheduleRecord; readonly refresh: () => void }): JSX.Element {
  const { name, spec, timezone, type, last, fired, missed, skipped } = of
  const words = scheduleWords(spec)
  return (
    <tr>
      <td class="wrap">
        <strong>{name}</strong>
        <div>
          <QueueLink type={type} />
        </div>
      </td>
      <td class="wide wrap">
        {words ?? <code>{spec}</code>}
        <div class="muted">
          {timezone} {words !== null && <code>{spec}</code>}
        </div>
      </td>
      <td class="wrap">
        <Next of={of} />
      </td>
      <td class="wide">
        {last === null ? (
          <span class="muted">never</span>
        ) : (
          <a href={jobLink(last.jobId)}>{dateIn(last.at, timezone)}</a>
        )}
      </td>
      <td class="num wide">{number(fired)}</td>
      <td class="num" title={skipped > 0 ? `${counted(skipped, 'tick')} left out for an earlier job` : undefined}>
        {missed > 0 ? <span class="state tone-dead">{number(missed)}</span> : <span class="muted">0</span>}
        {skipped > 0 && <div class="muted">{number(skipped)} left out</div>}
      </td>
      {about.value.role === 'admin' && <Changes of={of} refresh={refresh} />}
    </tr>
  )
}

function Next({ of }: { readonly of: ScheduleRecord }): JSX.Element {
  const { nextRuns, paused, timezone } = of
  const [next] = nextRuns
  const late = lateBy(of)
  if (next === undefined || paused) {
    return paused ? <span class="state tone-cancelled">paused</span> : <span class="muted">none</span>
  }
  return (
    <>
      {late > 0 ? <span class="state tone-dead">late {duration(now.value - next)}</span> : <Time at={next} />}
      <div class="muted">{dateIn(next, timezone)}</div>
    </>
  )
}

function Changes({
  of: { name, paused },
  refresh,
}: {
  readonly of: ScheduleRecord
  readonly refresh: () => void
}): JSX.Element {
  const act = (verb: 'pause' | 'resume' | 'trigger', past: string): void =>
    void change(async () => {
      await post(`/schedules/${encodeURIComponent(name)}/${verb}`)
      refresh()
      return `${name} was ${past}.`
    })
  return (
    <td class="actions">
      <button type="button" aria-label={`Fire now: ${name}`} onClick={() => act('trigger', 'fired')}>
        Fire now
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={`${paused ? 'Resume' : 'Pause'} ${name}`}
        onClick={() => (paused ? act('resume', 'resumed') : act('pause', 'paused'))}
      >
        {paused ? 'Resume' : 'Pause'}
      </button>
    </td>
  )
}
