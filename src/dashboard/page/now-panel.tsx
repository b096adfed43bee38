/** What a job is in and waits for, and what may be done to it: the first lines of its page. */
import type { ComponentChildren, JSX } from 'preact'
import type { ErrorRecord } from '../../index.ts'
import type { JobView } from '../job-view.ts'
import type { PastView } from '../machine-shown.ts'
import { about } from './about.ts'
import { Events, Timers } from './machine.tsx'
import { countdown, date, duration, now } from './words.ts'

interface NowProps {
  readonly of: JobView
  /** Where its machine stood, if the past is shown. */
  readonly past: PastView | null
  readonly onSend: (type: string) => void
}

export function Now({ of: { job, machine, may }, past, onSend }: NowProps): JSX.Element {
  const shown = past?.machine ?? machine
  return (
    <section class="panel now" aria-label={past === null ? 'Now' : `At checkpoint ${past.number}`}>
      <dl class="now-facts">
        {shown !== null && (
          <Fact name={past === null ? 'In' : `Then in`}>
            <span class="where">
              {shown.states.map((state) => (
                <span key={state} class="in">
                  {state}
                </span>
              ))}
              {shown.tags.map((tag) => (
                <span key={tag} class="tag">
                  {tag}
                </span>
              ))}
            </span>
          </Fact>
        )}
        {past === null && <When of={job} />}
        <Fact name="Attempt">
          {job.attempt} of {job.maxAttempts}
          {job.generation > 1 && `, generation ${job.generation}`}
        </Fact>
        {shown !== null && <Fact name="Version">{shown.version}</Fact>}
      </dl>
      {past === null && shown !== null && (
        <Events of={shown} canSend={may.send && about.value.role === 'admin'} onSend={onSend} />
      )}
      {shown !== null && <Timers of={shown} from={past?.at ?? now.value} />}
    </section>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** What happens next to it, or when it ended. */
function When({
  of: { state, dueAt, startedAt, finishedAt, enqueuedAt },
}: {
  readonly of: JobView['job']
}): JSX.Element {
  if (finishedAt !== null)
    return (
      <Fact name="Ended">
        <span title={date(finishedAt)}>{duration(Math.max(0, now.value - finishedAt))} ago</span>, after{' '}
        {duration(finishedAt - enqueuedAt)}
      </Fact>
    )
  if (state === 'running' && startedAt !== null)
    return <Fact name="Runs for">{duration(Math.max(0, now.value - startedAt))}</Fact>
  if (dueAt !== null)
    return (
      <Fact name={state === 'retrying' ? 'Next attempt' : 'Due'}>
        <span title={date(dueAt)}>{countdown(dueAt, now.value)}</span>
      </Fact>
    )
  return <Fact name="Waits for">{duration(Math.max(0, now.value - enqueuedAt))}</Fact>
}

export const LastError = ({
  error: { name, message, code },
  attempt,
}: {
  readonly error: ErrorRecord
  readonly attempt: number
}): JSX.Element => (
  <p class="last-error">
    <strong>{name}</strong> {message} {code !== undefined && <code>{code}</code>}{' '}
    <span class="nowrap">(attempt {attempt})</span>
  </p>
)
