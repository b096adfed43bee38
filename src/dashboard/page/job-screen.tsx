/** A job: where it stands in its chart and stood before, how it came there, and what may be done to it now. */
import { counted } from '../../core/counted.ts'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { AttemptError, ErrorRecord } from '../../index.ts'
import type { JobView } from '../job-view.ts'
import { about } from './about.ts'
import { jobPath, post, useResource } from './api.ts'
import { Changes } from './changes.tsx'
import { Chart } from './chart.tsx'
import { CopyAs } from './copy-as.tsx'
import { ask, change } from './dialog.tsx'
import { NoJob } from './find.tsx'
import { SendDialog } from './machine.tsx'
import { useLive, useWatchedJob } from './live.ts'
import { LastError, Now } from './now-panel.tsx'
import { Loaded, Panel, Payload, QueueLink, State, Time, Tree } from './parts.tsx'
import { link } from './router.ts'
import { Checkpoints, TimeTravel, useTravel, type Travel } from './time-travel.tsx'
import { Timeline } from './timeline.tsx'
import { Waterfall } from './waterfall.tsx'
import { clock, date, duration, number } from './words.ts'

/**
 * Check-ins and logs are shown within half a second, also those of other processes: the worker holds them back for up
 * to 250 ms.
 */
const refreshMs = 100

export function JobScreen({ id }: { readonly id: string }): JSX.Element {
  const job = useResource<JobView>(jobPath(id), refreshMs)
  useWatchedJob(id)
  useLive({
    onTransitions: (transitions) => transitions.some((each) => each.id === id) && job.refresh(),
    onJob: job.refresh,
    onReset: job.refresh,
  })
  if (job.data === null && job.error?.code === 'NOT_FOUND') return <NoJob id={id} />
  return <Loaded of={job}>{(view) => <Job of={view} refresh={job.refresh} />}</Loaded>
}

function Job({ of, refresh }: { readonly of: JobView; readonly refresh: () => void }): JSX.Element {
  const { job, machine, machineProblem, children, checkpoints } = of
  const travel = useTravel(of)
  const [sending, setSending] = useState<string | null>(null)
  const { past } = travel
  const context = past === null ? 'Context' : `Context at checkpoint ${past.number}`
  return (
    <>
      {sending !== null && <SendDialog of={of} type={sending} refresh={refresh} onClose={() => setSending(null)} />}
      <div class="heading">
        <div>
          <p class="crumb">
            <QueueLink type={job.type} />
          </p>
          <h1>
            <span class="id">{job.id}</span> <State state={job.state} /> <CopyAs of={of} />
          </h1>
        </div>
        {about.value.role === 'admin' && <Actions of={of} refresh={refresh} />}
      </div>
      {job.unsupported !== null && (
        <p class="warning" role="alert">
          No worker that has claimed it can run version {job.unsupported.version} of its machine:{' '}
          {job.unsupported.reason}
        </p>
      )}
      {machineProblem !== null && <p class="warning">{machineProblem}</p>}
      {job.error !== null && <LastError error={job.error} attempt={job.errors.at(-1)?.attempt ?? job.attempt} />}
      <Now of={of} past={past} onSend={setSending} />
      {(children.length > 0 || job.parent !== null) && <Waterfall id={job.id} onCheckpoint={travel.to} />}
      <div class="columns">
        {machine === null ? (
          <Payload title="Input" value={job.input} />
        ) : (
          <Payload title={context} value={(past?.machine ?? machine).context} />
        )}
        {Object.keys(job.meta).length > 0 && <Payload title="Meta" value={job.meta} />}
        <Facts job={job} />
        <Progress job={job} />
        <Deferred job={job} />
      </div>
      <div class="pair">
        <Picture of={of} travel={travel} onSend={setSending} />
        {machine !== null && checkpoints.length > 0 && <Changes of={of} travel={travel} />}
      </div>
      {job.errors.length > 0 && <Errors errors={job.errors} />}
      <Panel title="Timeline" aside={<span class="muted">to scale, from its enqueue</span>}>
        <Timeline of={of} />
      </Panel>
      <div class="columns">
        {machine !== null && <Payload title="Input" value={job.input} />}
        {(machine === null || job.output !== undefined) && <Payload title="Output" value={job.output} />}
      </div>
      {checkpoints.length > 0 && <Checkpoints of={of} travel={travel} />}
    </>
  )
}

interface PictureProps {
  readonly of: JobView
  readonly travel: Travel
  readonly onSend: (type: string) => void
}

function Picture({ of, travel, onSend }: PictureProps): JSX.Element {
  const { job, machine, may } = of
  const isMachine = job.version !== null && machine !== null
  const [life, setLife] = useState(false)
  const which = isMachine && !life ? 'machine' : 'job'
  const stamp = `${job.history.at(-1)?.seq ?? 0}.${job.checkpoint?.number ?? 0}`
  const { chosen, past, shows } = travel
  // The slider is below the chart of the machine only.
  useEffect(() => setLife(false), [shows])
  const sendable = useMemo(
    () =>
      may.send && chosen === null && about.value.role === 'admin'
        ? (machine?.events ?? []).filter(({ accepted }) => accepted).map(({ type }) => type)
        : [],
    [machine, may.send, chosen],
  )
  const aside = isMachine ? (
    <div class="tabs">
      <button type="button" class="quiet" aria-pressed={!life} onClick={() => setLife(false)}>
        Its machine
      </button>
      <button type="button" class="quiet" aria-pressed={life} onClick={() => setLife(true)}>
        Its life
      </button>
    </div>
  ) : (
    <span class="muted">its moves are numbered</span>
  )
  const title = which === 'job' ? 'Its path' : chosen === null ? 'Where it stands' : 'Where it stood'
  return (
    <Panel title={title} aside={aside} folds shown={shows}>
      <Chart
        path={`/charts/${which}.svg?job=${encodeURIComponent(job.id)}&at=${stamp}`}
        events={which === 'machine' ? sendable : []}
        onEvent={onSend}
        active={which === 'machine' ? chosen?.nodes : undefined}
        timers={which !== 'machine' ? undefined : chosen === null ? machine?.timers : past?.machine.timers}
        timersFrom={past?.at}
        isCapped
      />
      {which === 'machine' && <TimeTravel of={of} travel={travel} />}
    </Panel>
  )
}

function Actions({ of: { job, may }, refresh }: { readonly of: JobView; readonly refresh: () => void }): JSX.Element {
  const path = jobPath(job.id)
  const act = async (verb: string, past: string, body: object = {}): Promise<string> => {
    await post(`${path}/${verb}`, body)
    refresh()
    return `${job.id} was ${past}.`
  }
  const isMachine = job.version !== null
  const askCancel = (): void =>
    ask({
      title: 'Cancel this job?',
      text:
        job.state === 'running'
          ? 'It runs: its handler is asked to end.'
          : 'It ends at once, unless its machine takes the cancel as an event.',
      verb: 'Cancel the job',
      danger: true,
      reason: 'Reason (kept with the job)',
      run: (reason) => act('cancel', 'cancelled', reason === '' ? {} : { reason }),
    })
  const askDiscard = (): void =>
    ask({
      title: 'Discard this job?',
      text: 'It is removed with its input, output and errors. This cannot be undone.',
      verb: 'Discard',
      danger: true,
      run: async () => {
        const said = await act('discard', 'discarded')
        location.hash = link('jobs', '', { type: job.type })
        return said
      },
    })
  return (
    <div class="actions">
      {may.retry && (
        <button type="button" class="primary" onClick={() => void change(() => act('retry', 'sent through again'))}>
          {isMachine ? 'Retry from its checkpoint' : 'Retry'}
        </button>
      )}
      {may.retry && isMachine && (
        <button type="button" onClick={() => void change(() => act('retry', 'started again', { from: 'start' }))}>
          From its start
        </button>
      )}
      {may.cancel && (
        <button type="button" onClick={askCancel}>
          Cancel
        </button>
      )}
      {may.discard && (
        <button type="button" class="quiet" onClick={askDiscard}>
          Discard
        </button>
      )}
    </div>
  )
}

function Facts({ job }: { readonly job: JobView['job'] }): JSX.Element {
  const { priority, enqueuedAt, dueAt, startedAt, finishedAt, key, concurrencyKey, tags, cancelReason } = job
  const time = (at: number): ComponentChildren => (
    <>
      <Time at={at} /> <span class="muted nowrap">{date(at)}</span>
    </>
  )
  const rows: readonly (readonly [string, ComponentChildren] | null)[] = [
    ['Enqueued', time(enqueuedAt)],
    dueAt === null ? null : ['Due', time(dueAt)],
    startedAt === null ? null : ['Started', time(startedAt)],
    finishedAt === null ? null : ['Ended', time(finishedAt)],
    startedAt === null || finishedAt === null ? null : ['Last attempt took', duration(finishedAt - startedAt)],
    priority === 0 ? null : ['Priority', String(priority)],
    key === null ? null : ['Unique key', <code>{key}</code>],
    concurrencyKey === null ? null : ['Concurrency key', <code>{concurrencyKey}</code>],
    cancelReason === null ? null : ['Cancelled for', cancelReason],
    tags.length === 0
      ? null
      : [
          'Tags',
          <span class="where">
            {tags.map((tag) => (
              <a key={tag} class="tag" href={link('jobs', '', { tag })}>
                {tag}
              </a>
            ))}
          </span>,
        ],
  ]
  return (
    <Panel title="Facts">
      <dl>
        {rows.map(
          (row) =>
            row !== null && (
              <div key={row[0]}>
                <dt>{row[0]}</dt>
                <dd>{row[1]}</dd>
              </div>
            ),
        )}
      </dl>
    </Panel>
  )
}

function Progress({ job: { checkin, logs } }: { readonly job: JobView['job'] }): JSX.Element | null {
  if (checkin === null && logs.length === 0) return null
  const value = checkin?.value
  const part =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)['percent']
      : value
  return (
    <Panel title="Check-in and logs" aside={checkin !== null && <Time at={checkin.at} />}>
      {typeof part === 'number' && part >= 0 && part <= 100 && (
        <progress max={100} value={part} aria-label="Progress" />
      )}
      {checkin !== null && (
        <div class="tree">
          <Tree value={checkin.value} depth={1} />
        </div>
      )}
      {logs.length > 0 && (
        <ol class="logs">
          {logs.toReversed().map(({ at, attempt, message, fields }, i) => (
            <li key={`${at} ${i}`}>
              <time title={`${date(at)}, attempt ${attempt}`}>{clock(at)}</time>
              <span>
                {message} {fields !== undefined && <code>{JSON.stringify(fields)}</code>}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

/** Events that the machine has read and no state has taken yet. */
function Deferred({ job: { inbox, deferred } }: { readonly job: JobView['job'] }): JSX.Element | null {
  const events = inbox.filter((entry) => deferred.includes(entry.number))
  if (events.length === 0) return null
  return (
    <Panel title="Events that wait for a state" aside={<span class="muted">{number(events.length)}</span>}>
      <ol class="logs">
        {events.map(({ number: each, at, message }) => (
          <li key={each}>
            <time title={date(at)}>{clock(at)}</time>
            <span>
              <code>{message.kind === 'event' ? JSON.stringify(message.event) : message.kind}</code>
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

const Errors = ({ errors }: { readonly errors: readonly AttemptError[] }): JSX.Element => (
  <Panel
    title="Errors"
    aside={
      <span class="muted">
        {`${counted(errors.length, 'failed attempt')}${errors.length === 1 ? '' : ', the latest first'}`}
      </span>
    }
  >
    <ul class="errors">
      {errors.toReversed().map(({ attempt, generation, error, startedAt, failedAt }) => (
        <li key={`${generation} ${attempt} ${failedAt}`}>
          <p class="muted">
            Attempt {attempt}
            {generation > 1 ? ` of generation ${generation}` : ''}, after {duration(failedAt - startedAt)},{' '}
            <Time at={failedAt} />
          </p>
          <ErrorTree error={error} />
        </li>
      ))}
    </ul>
  </Panel>
)

const ErrorTree = ({
  error: { name, message, code, hint, stack, cause },
}: {
  readonly error: ErrorRecord
}): JSX.Element => (
  <>
    <p class="error-line">
      <strong>{name}</strong> {message} {code !== undefined && <code>{code}</code>}
    </p>
    {hint !== undefined && <p class="muted">{hint}</p>}
    {stack !== undefined && (
      <details>
        <summary>Stack</summary>
        <pre>{stack}</pre>
      </details>
    )}
    {cause !== undefined && (
      <div class="cause">
        <span class="muted">caused by</span>
        <ErrorTree error={cause} />
      </div>
    )}
  </>
)
