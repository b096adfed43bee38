/**
 * Failures by type and error, as the store has counted them; the dead jobs of a group are listed, retried or discarded
 * together.
 */
import { counted } from '../../core/counted.ts'
import { ownValue } from '../../core/own-value.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { MergedFailureGroup } from '../../index.ts'
import type { Matching } from '../count-matching.ts'
import type { FailureView } from '../failure-view.ts'
import { metaText } from '../meta-member.ts'
import { about } from './about.ts'
import { get, post, useResource } from './api.ts'
import { changeAll } from './bulk.tsx'
import { ask, change, FormDialog, say, sayError } from './dialog.tsx'
import { apiFilter, apiQuery } from './filters.ts'
import { counts, useLive } from './live.ts'
import { Bars, Empty, Loaded, Panel, QueueLink, Time } from './parts.tsx'
import { jobLink, link, place, scope } from './router.ts'
import { date, duration, number } from './words.ts'

interface Failed {
  readonly groups: readonly MergedFailureGroup[]
}

export function DeadScreen(): JSX.Element {
  const type = place.value.query.get('type')
  const failed = useResource<Failed>(
    `/failures?${new URLSearchParams({ limit: '1000', ...(type !== null && { type }) })}`,
  )
  useLive({
    onTransitions: (transitions) =>
      transitions.some(({ event, from }) => event === 'FAIL' || event === 'EXPIRE' || from === 'dead') &&
      failed.refresh(),
    onReset: failed.refresh,
  })
  return (
    <>
      <h1>
        Dead
        {type !== null && (
          <a class="tag" href={link('dead')} title="all types">
            {type} ×
          </a>
        )}
      </h1>
      <Loaded of={failed}>{({ groups }) => <Groups groups={groups} type={type} changed={failed.refresh} />}</Loaded>
    </>
  )
}

interface GroupsProps extends Failed {
  /** Null: groups of all types are shown. */
  readonly type: string | null
  readonly changed: () => void
}

function Groups({ groups, type, changed }: GroupsProps): JSX.Element {
  const deadly = groups.filter(({ dead }) => dead > 0).toSorted((a, b) => b.dead - a.dead)
  const others = groups.filter(({ dead }) => dead === 0)
  return (
    <>
      <Panel title="By type and error" aside={<Others groups={groups} type={type} />}>
        {deadly.length === 0 ? (
          <Empty title="No job is dead">
            Jobs that spend their attempts stay here until a person retries or discards them.
          </Empty>
        ) : (
          <Failures groups={deadly} all={groups} changed={changed} showType />
        )}
      </Panel>
      {others.length > 0 && (
        <Panel title="Other failures" aside={<span class="muted">no job is dead of them now</span>}>
          <Failures groups={others} all={groups} changed={changed} showType />
        </Panel>
      )}
    </>
  )
}

/** Dead jobs that no group counts: their group was removed, or an earlier release has written their error. */
function Others({ groups, type }: Pick<Failed, 'groups'> & { readonly type: string | null }): JSX.Element {
  const all = type === null ? counts.value : ownValue(counts.value?.types, type)
  const others = (all?.dead ?? 0) - groups.reduce((sum, { dead }) => sum + dead, 0)
  return (
    <span class="muted">
      {scope.value !== null && <>figures are of all jobs, lists and changes within {scope.value}; </>}
      <a href={link('jobs', '', { state: 'dead', ...(type !== null && { type }) })}>
        all dead jobs{others > 0 && `, ${number(others)} of them in no group`}
      </a>
    </span>
  )
}

interface FailuresProps {
  readonly groups: readonly MergedFailureGroup[]
  /** Those that one of them can be merged with; default: `groups`. */
  readonly all?: readonly MergedFailureGroup[]
  readonly changed: () => void
  readonly showType: boolean
}

export function Failures({ groups, all = groups, changed, showType }: FailuresProps): JSX.Element {
  if (groups.length === 0)
    return <Empty title="No failures">Attempts that fail are counted here by their message.</Empty>
  return (
    <ul class="groups">
      {groups.map((group) => (
        <Group key={`${group.type} ${group.fingerprint}`} of={group} all={all} changed={changed} showType={showType} />
      ))}
    </ul>
  )
}

const deadWords = (dead: number): string => {
  if (scope.value !== null) return `its dead jobs in ${scope.value}`
  return dead === 1 ? 'the dead job' : `the ${number(dead)} dead jobs`
}

interface GroupProps extends Required<Omit<FailuresProps, 'groups'>> {
  readonly of: MergedFailureGroup
}

function Group({ of, all, changed, showType }: GroupProps): JSX.Element {
  const { type, name, code, message, count, dead, firstAt, lastAt, lastId, fingerprints } = of
  const deadJobs = link('jobs', '', { type, state: 'dead', failure: fingerprints })
  return (
    <li data-row tabindex={-1} data-href={dead > 0 ? deadJobs : jobLink(lastId)}>
      <p class={`count ${dead > 0 ? 'dead' : ''}`}>
        <b>{number(dead > 0 ? dead : count)}</b> <small class="muted">{dead > 0 ? 'dead' : 'failed'}</small>
      </p>
      <div>
        <p class="error-line">
          <strong>{name}</strong> {message} {code !== null && <code>{code}</code>}
        </p>
        <p class="muted">
          {showType && (
            <>
              <QueueLink type={type} />,{' '}
            </>
          )}
          {fingerprints.length > 1 && <>{counted(fingerprints.length, 'group')} in one, </>}
          {counted(count, 'failed attempt')},{' '}
          {count > 1 && (
            <>
              first <Time at={firstAt} />,{' '}
            </>
          )}
          last <Time at={lastAt} />, <a href={jobLink(lastId)}>look at the latest</a>
          {dead > 0 && (
            <>
              , <a href={deadJobs}>{deadWords(dead)}</a>
            </>
          )}
        </p>
        <Near of={of} />
      </div>
      {about.value.role === 'admin' && (
        <div class="actions">
          {dead > 0 && <Changes of={of} changed={changed} />}
          <Merges of={of} all={all} changed={changed} />
        </div>
      )}
    </li>
  )
}

/** When and for whom attempts failed: read when it is opened. */
function Near({
  of: { type, fingerprint, fingerprints, count, dead },
}: {
  readonly of: MergedFailureGroup
}): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const path = `/failures/${encodeURIComponent(fingerprint)}?${new URLSearchParams({ type })}`
  const view = useResource<FailureView>(isOpen ? path : null)
  useEffect(() => view.refresh(), [count, dead])
  return (
    <details class="near" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="muted">when, and for whom</summary>
      {isOpen && <Loaded of={view}>{(data) => <NearView of={data} type={type} fingerprints={fingerprints} />}</Loaded>}
    </details>
  )
}

function NearView({
  of: { jobs, more, strip, meta, versions },
  type,
  fingerprints,
}: {
  readonly of: FailureView
  readonly type: string
  readonly fingerprints: readonly string[]
}): JSX.Element {
  const { from, stepMs, failed } = strip
  const jobsOf = (name: string, value: string | number | boolean | null): string =>
    link('jobs', '', { type, failure: fingerprints, ...(value !== null && { meta: metaText(name, value) }) })
  return (
    <>
      <Bars
        values={failed}
        titles={failed.map((count, i) => `${date(from + i * stepMs).slice(0, 16)}: ${number(count)}`)}
        tone="dead"
        label={`Failed attempts since ${date(from)}, a bar is ${duration(stepMs)}`}
      />
      <p class="legend muted">
        <span>{date(from).slice(0, 16)}</span>
        <span>a bar is {duration(stepMs)}</span>
        <span>
          of {counted(jobs, 'job')}
          {more && ', those enqueued last'}
        </span>
      </p>
      <dl>
        {versions.length > 0 && (
          <div>
            <dt>version</dt>
            <dd>{versions.map(({ value, jobs: own }) => `${value}: ${number(own)}`).join(' · ')}</dd>
          </div>
        )}
        {meta.map(({ name, values, others }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="where">
              {values.map(({ value, jobs: own }) => (
                <a key={value} class="tag" href={jobsOf(name, value)}>
                  {String(value)} <b>{number(own)}</b>
                </a>
              ))}
              {others > 0 && <span class="muted">and {number(others)} more</span>}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}

type Report = Readonly<Partial<Record<'retried' | 'refused', readonly string[]>>>

const changes = {
  retry: {
    verb: 'Retry',
    text: 'They go to the end of their queue with all their attempts. Retry one first to see whether the cause is gone.',
  },
  discard: {
    verb: 'Discard',
    text: 'They are removed, with their input and their errors. This cannot be undone.',
  },
} as const

/** Retry and discard of all dead jobs of a group that are in the scope, and retry of one of them. */
function Changes({
  of: { type, dead, fingerprints },
  changed,
}: {
  readonly of: MergedFailureGroup
  readonly changed: () => void
}): JSX.Element {
  const query = new URLSearchParams({ type, state: 'dead' })
  for (const fingerprint of fingerprints) query.append('failure', fingerprint)
  const within = scope.value === null ? '' : ` in ${scope.value}`
  // The figures of a group are of all jobs.
  const matching = async (kind: keyof typeof changes): Promise<Matching> =>
    within === '' ? { count: dead, more: false } : get(`/jobs/count?${apiQuery(query)}&change=${kind}`)
  const askAll = async (kind: keyof typeof changes): Promise<void> => {
    const { verb, text } = changes[kind]
    const { count, more } = await matching(kind)
    if (count === 0) return say(`No dead job of the group is${within}.`)
    ask({
      title: `${verb} ${more ? `${number(count)}+ jobs` : counted(count, 'job')} of ${type}${within}?`,
      text,
      verb: `${verb} ${number(count)}${more ? '+' : ''}`,
      danger: kind === 'discard',
      run: async () => {
        const told = await changeAll(kind, { filter: apiFilter(query), ...(!more && { expected: count }) })
        changed()
        return told
      },
    })
  }
  const start = (kind: keyof typeof changes): void => void askAll(kind).catch(sayError)
  const retryOne = async (): Promise<string> => {
    const { jobs } = await get<{ jobs: readonly { readonly id: string }[] }>(
      `/jobs?${apiQuery(query)}&orderBy=finished&limit=1`,
    )
    if (jobs.length === 0) return `No job of the group is dead${within} any more.`
    const { retried = [], refused = [] } = await post<Report>('/jobs/retry', { ids: jobs.map(({ id }) => id) })
    changed()
    return `${number(retried.length)} retried${refused.length === 0 ? '' : `, ${number(refused.length)} refused`}.`
  }
  const askOne = (): void =>
    ask({ title: 'Retry one job?', text: `The one that has died last${within}.`, verb: 'Retry one', run: retryOne })
  return (
    <>
      {dead > 1 && (
        <button type="button" onClick={askOne}>
          Retry one
        </button>
      )}
      <button type="button" onClick={() => start('retry')}>
        {dead > 1 ? 'Retry all' : 'Retry'}
      </button>
      <button class="quiet" type="button" onClick={() => start('discard')}>
        Discard
      </button>
    </>
  )
}

/** Tells several groups as one, because they have one cause; or takes the groups of one apart. */
function Merges({ of, all, changed }: Omit<GroupProps, 'showType'>): JSX.Element {
  const { type, fingerprint, fingerprints, name, message } = of
  const [isOpen, setOpen] = useState(false)
  const [chosen, setChosen] = useState<string | null>(null)
  const others = all.filter((each) => each.type === type && each.fingerprint !== fingerprint)
  const other = others.find((each) => each.fingerprint === chosen) ?? others[0]
  const close = (): void => setOpen(false)
  const merge = async (): Promise<void> => {
    await change(async () => {
      await post('/failures/merge', { type, fingerprints: [fingerprint, other?.fingerprint ?? ''] })
      changed()
      return 'The groups are one.'
    })
    close()
  }
  const askSplit = (): void =>
    ask({
      title: 'Take the groups apart?',
      text: `${counted(fingerprints.length, 'group')} of ${type} are told as one: ${name} ${message}`,
      verb: 'Split',
      run: async () => {
        await post('/failures/split', { type, fingerprints })
        changed()
        return 'Each group stands for itself.'
      },
    })
  return (
    <>
      {others.length > 0 && (
        <button class="quiet" type="button" onClick={() => setOpen(true)}>
          Merge
        </button>
      )}
      {fingerprints.length > 1 && (
        <button class="quiet" type="button" onClick={askSplit}>
          Split
        </button>
      )}
      {isOpen && (
        <FormDialog title={`Merge with ${name} ${message}`} verb="Merge" onConfirm={merge} onClose={close}>
          <p>Both are shown as one group from now on, by the name of this one, and their jobs are found together.</p>
          <label>
            The other group
            <select value={other?.fingerprint} onChange={(event) => setChosen(event.currentTarget.value)}>
              {others.map((each) => (
                <option key={each.fingerprint} value={each.fingerprint}>
                  {each.name} {each.message}
                </option>
              ))}
            </select>
          </label>
        </FormDialog>
      )}
    </>
  )
}
