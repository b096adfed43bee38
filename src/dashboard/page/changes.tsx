/** What a checkpoint has changed: the events that led to it, and the difference of the context. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../index.ts'
import { differencesOf, type Difference } from '../difference.ts'
import type { JobView } from '../job-view.ts'
import type { CheckpointShown, EventOfPast, PastView } from '../machine-shown.ts'
import { Panel, Tree } from './parts.tsx'
import { jobLink } from './router.ts'
import { usePast, type Travel } from './time-travel.tsx'
import { clock, date } from './words.ts'

interface ChangesProps {
  readonly of: JobView
  readonly travel: Travel
}

export function Changes({ of: { job, checkpoints }, travel: { chosen } }: ChangesProps): JSX.Element | null {
  const [other, setOther] = useState<number | null>(null)
  const shown = chosen ?? checkpoints.at(-1)
  const at = shown === undefined ? -1 : checkpoints.indexOf(shown)
  const compared = checkpoints.find(({ seq }) => seq === other) ?? null
  const base = compared ?? checkpoints[at - 1] ?? null
  const view = usePast(job.id, shown?.seq ?? null)
  const before = usePast(job.id, base?.seq ?? null)
  if (shown === undefined) return null
  const isLoaded = view !== null && (base === null || before !== null)
  return (
    <Panel
      title={
        compared === null ? `What checkpoint ${shown.number} changed` : `From ${compared.number} to ${shown.number}`
      }
      aside={<Choice of={checkpoints} shown={shown} other={other} choose={setOther} />}
    >
      {view !== null && compared === null && <Events of={view} />}
      {isLoaded && base === null && (
        <p class="muted">
          {shown.number === 1 ? 'With it the machine began.' : 'The checkpoint before it is not kept any more.'}
        </p>
      )}
      {isLoaded && before !== null && (
        <>
          <States before={before.machine.states} after={view.machine.states} />
          <Differences before={before.machine.context} after={view.machine.context} />
        </>
      )}
      {isLoaded && before !== null && compared !== null && (
        <div class="columns">
          <Side of={compared} context={before.machine.context} />
          <Side of={shown} context={view.machine.context} />
        </div>
      )}
    </Panel>
  )
}

interface ChoiceProps {
  readonly of: readonly CheckpointShown[]
  readonly shown: CheckpointShown
  readonly other: number | null
  readonly choose: (seq: number | null) => void
}

const Choice = ({ of, shown, other, choose }: ChoiceProps): JSX.Element => (
  <label class="muted compare">
    beside{' '}
    <select
      value={other ?? ''}
      onChange={({ currentTarget: { value } }) => choose(value === '' ? null : Number(value))}
    >
      <option value="">the one before</option>
      {of
        .filter(({ seq }) => seq !== shown.seq)
        .map(({ seq, number, note }) => (
          <option key={seq} value={seq}>
            {`${number} ${note}`.slice(0, 60)}
          </option>
        ))}
    </select>
  </label>
)

const origins: Readonly<Record<EventOfPast['from'], string>> = {
  start: 'the job was started',
  caller: 'sent to the job',
  cancel: 'the job was cancelled',
  timer: 'a timer',
  actor: 'an actor',
}

function Events({ of: { events, note } }: { readonly of: PastView }): JSX.Element {
  if (events === null) return <p class="muted">There were more events than are kept.</p>
  if (events.length === 0) return <p class="muted">No event led to it{note !== '' && `: ${note}`}.</p>
  return (
    <ul class="lines happened">
      {events.map(({ at, words, data, from, actorWords, job, to }, i) => (
        <li key={i}>
          <time class="muted" title={date(at)}>
            {clock(at)}
          </time>
          <b>{words}</b>
          <span class="muted">
            {from === 'actor' && job !== null ? (
              <>
                from job <a href={jobLink(job)}>{job}</a>
              </>
            ) : from === 'actor' && actorWords !== null ? (
              `from ${actorWords}`
            ) : (
              origins[from]
            )}
            {to !== '' && `, to ${to}`}
          </span>
          {Object.keys(data as object).length > 0 && (
            <div class="data">
              <Tree value={data} depth={1} />
            </div>
          )}
        </li>
      ))}
    </ul>
  )
}

const States = ({
  before,
  after,
}: {
  readonly before: readonly string[]
  readonly after: readonly string[]
}): JSX.Element | null => {
  const left = before.filter((state) => !after.includes(state))
  const entered = after.filter((state) => !before.includes(state))
  if (left.length === 0 && entered.length === 0) return <p class="muted">It stayed in {after.at(-1)}.</p>
  return (
    <p class="where">
      {left.map((state) => (
        <del key={state} class="in">
          {state}
        </del>
      ))}
      <span class="muted">→</span>
      {entered.map((state) => (
        <ins key={state} class="in">
          {state}
        </ins>
      ))}
    </p>
  )
}

const signs: Readonly<Record<Difference['kind'], string>> = { added: '+', removed: '−', changed: '~' }
const textMax = 400

const short = (value: Json | undefined): string => {
  const text = JSON.stringify(value) ?? ''
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

function Differences({ before, after }: { readonly before: Json; readonly after: Json }): JSX.Element {
  const { list, more } = differencesOf(before, after)
  if (list.length === 0) return <p class="muted">The context is the same.</p>
  return (
    <ul class="differences" aria-label="Differences of the context">
      {list.map(({ path, kind, before: was, after: is }) => (
        <li key={path} class={kind}>
          <b aria-label={kind}>{signs[kind]}</b>
          <code class="key">{path === '' ? 'context' : path}</code>
          <span>
            {kind !== 'added' && <del>{short(was)}</del>}
            {kind === 'changed' && ' → '}
            {kind !== 'removed' && <ins>{short(is)}</ins>}
          </span>
        </li>
      ))}
      {more && <li class="muted">and more</li>}
    </ul>
  )
}

const Side = ({ of, context }: { readonly of: CheckpointShown; readonly context: Json }): JSX.Element => (
  <div class="side">
    <p>
      <b>{of.number}</b> {of.note} <span class="muted">{date(of.at)}</span>
    </p>
    <div class="tree">
      <Tree value={context} />
    </div>
  </div>
)
