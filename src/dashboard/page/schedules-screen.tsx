/** Schedules as a table: when each fires next and fired last, what is late and what was missed, and its pause. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { ScheduleRecord } from '../../index.ts'
import { segmentOf } from '../path-segment.ts'
import type { Trouble } from '../trouble.ts'
import { about } from './about.ts'
import { post, useRepeated, useResource } from './api.ts'
import { change } from './dialog.tsx'
import { useLive } from './live.ts'
import { Empty, Loaded, QueueLink, Time } from './parts.tsx'
import { jobLink } from './router.ts'
import { scheduleWords } from './schedule-words.ts'
import { matchesText, TableFilters, useFirstRows, useTableFilter } from './table-filter.tsx'
import { dateIn, duration, now, number } from './words.ts'

/** A tick may be fired so late, ms. */
const lateMs = 60_000

const lateBy = ({ nextRuns: [next], paused, jitterMs }: ScheduleRecord): number =>
  paused || next === undefined ? 0 : Math.max(0, now.value - next - lateMs - jitterMs)

/** By the name of a schedule the tick that was missed last. */
type Missed = ReadonlyMap<string, number>

/** Null as soon as a later one has fired: trouble may tell of it for some seconds more. */
function missedAt({ name, last }: ScheduleRecord, missed: Missed): number | null {
  const at = missed.get(name) ?? null
  return at !== null && at > (last?.at ?? 0) ? at : null
}

const chips: Readonly<Record<string, (schedule: ScheduleRecord, missed: Missed) => boolean>> = {
  late: (schedule) => lateBy(schedule) > 0,
  missed: (schedule, missed) => missedAt(schedule, missed) !== null,
  paused: ({ paused }) => paused,
}

export function SchedulesScreen(): JSX.Element {
  const schedules = useResource<{ readonly schedules: readonly ScheduleRecord[] }>('/schedules')
  const trouble = useResource<{ readonly trouble: readonly Trouble[] }>('/trouble')
  const refresh = (): void => {
    schedules.refresh()
    trouble.refresh()
  }
  useLive({
    onTransitions: (transitions) => transitions.some(({ event }) => event === 'ENQUEUE') && refresh(),
    onReset: refresh,
  })
  useRepeated(trouble.refresh)
  const missed = new Map(
    (trouble.data?.trouble ?? []).flatMap(({ kind, name, value }) => (kind === 'missed-tick' ? [[name, value]] : [])),
  )
  return (
    <>
      <h1>Schedules</h1>
      <Loaded of={schedules}>
        {({ schedules: list }) =>
          list.length === 0 ? (
            <Empty title="No schedules">runtime.schedule(name, spec, job, input) makes one.</Empty>
          ) : (
            <Schedules of={list} missed={missed} refresh={refresh} />
          )
        }
      </Loaded>
    </>
  )
}

function Schedules({
  of,
  missed,
  refresh,
}: {
  readonly of: readonly ScheduleRecord[]
  readonly missed: Missed
  readonly refresh: () => void
}): JSX.Element {
  const { text, chip } = useTableFilter()
  const matching = of
    .filter((each) => chip === null || chips[chip]?.(each, missed) === true)
    .filter(({ name, type, spec, tags }) => matchesText(text, name, type, spec, ...tags))
    .toSorted((a, b) => lateBy(b) - lateBy(a))
  const [shown, more] = useFirstRows(matching)
  const counts = Object.entries(chips).map(
    ([name, has]) => [name, of.filter((each) => has(each, missed)).length] as const,
  )
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
                <Schedule key={each.name} of={each} missedTick={missedAt(each, missed)} refresh={refresh} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more}
    </>
  )
}

interface ScheduleProps {
  readonly of: ScheduleRecord
  /** When its last tick was missed; null if a later one has fired. */
  readonly missedTick: number | null
  readonly refresh: () => void
}

function Schedule({ of, missedTick, refresh }: ScheduleProps): JSX.Element {
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
      <td class="wide wrap">
        {last === null ? (
          <span class="muted">never</span>
        ) : (
          <a href={jobLink(last.jobId)}>{dateIn(last.at, timezone)}</a>
        )}
      </td>
      <td class="num wide">{number(fired)}</td>
      <td class="num" title={skipped > 0 ? `${counted(skipped, 'tick')} left out for an earlier job` : undefined}>
        <span class="muted">{number(missed)}</span>
        {missedTick !== null && (
          <div>
            <span class="state tone-dead" title={dateIn(missedTick, timezone)}>
              last <Time at={missedTick} />
            </span>
          </div>
        )}
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
      await post(`/schedules/${segmentOf(name)}/${verb}`)
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
