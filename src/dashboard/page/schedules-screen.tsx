/** Schedules: when each fires next and fired last, what it left out, and its pause. */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import type { ScheduleRecord } from '../../index.ts'
import { about } from './about.ts'
import { post, useResource } from './api.ts'
import { change } from './dialog.tsx'
import { useLive } from './live.ts'
import { Empty, Loaded, Panel, QueueLink, Time } from './parts.tsx'
import { jobLink } from './router.ts'
import { scheduleWords } from './schedule-words.ts'
import { dateIn, number } from './words.ts'

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
            list.map((each) => <Schedule key={each.name} of={each} refresh={schedules.refresh} />)
          )
        }
      </Loaded>
    </>
  )
}

function Schedule({ of, refresh }: { readonly of: ScheduleRecord; readonly refresh: () => void }): JSX.Element {
  const { name, spec, timezone, type, paused, nextRuns, last, fired, missed, skipped } = of
  const act = (verb: 'pause' | 'resume' | 'trigger', past: string): void =>
    void change(async () => {
      await post(`/schedules/${encodeURIComponent(name)}/${verb}`)
      refresh()
      return `${name} was ${past}.`
    })
  const [next] = nextRuns
  const words = scheduleWords(spec)
  return (
    <Panel title={name} aside={paused && <span class="state tone-cancelled">paused</span>}>
      <dl class="facts">
        <div>
          <dt>Next</dt>
          <dd>
            {next === undefined ? (
              <span class="muted">{paused ? 'none while it is paused' : 'none'}</span>
            ) : (
              <>
                <Time at={next} /> <span class="muted">{dateIn(next, timezone)}</span>
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            {last === null ? (
              <span class="muted">never</span>
            ) : (
              <a href={jobLink(last.jobId)}>{dateIn(last.at, timezone)}</a>
            )}
          </dd>
        </div>
        <div>
          <dt>Jobs</dt>
          <dd>
            {number(fired)} of <QueueLink type={type} />
            {missed > 0 && `, ${counted(missed, 'tick')} missed`}
            {skipped > 0 && `, ${number(skipped)} left out for an earlier job`}
          </dd>
        </div>
        <div>
          <dt>Fires</dt>
          <dd>
            {words ?? <code>{spec}</code>}
            <span class="muted">, {timezone}</span> {words !== null && <code class="muted nowrap">{spec}</code>}
          </dd>
        </div>
      </dl>
      {about.value.role === 'admin' && (
        <div class="actions">
          <button type="button" onClick={() => act('trigger', 'fired')}>
            Fire now
          </button>
          {paused ? (
            <button type="button" class="primary" onClick={() => act('resume', 'resumed')}>
              Resume
            </button>
          ) : (
            <button type="button" class="quiet" onClick={() => act('pause', 'paused')}>
              Pause
            </button>
          )}
        </div>
      )}
    </Panel>
  )
}
