/**
 * The list of jobs: stays still while it is read, says how many are new, and changes what is chosen or all that match.
 */
import { counted } from '../../core/counted.ts'
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { JobState, JobSummary } from '../../index.ts'
import { about } from './about.ts'
import { ApiError, get, post, useResource } from './api.ts'
import { changeAll, EndedOperations } from './bulk.tsx'
import { ask, say } from './dialog.tsx'
import {
  apiFilter,
  apiQuery,
  changed,
  pageQuery,
  readSearch,
  searchText,
  states,
  withinChoices,
  withoutSearch,
} from './filters.ts'
import { goFind } from './find.tsx'
import { types, useLive } from './live.ts'
import { Empty, Loaded, State, Time } from './parts.tsx'
import { jobLink, link, place, replace } from './router.ts'
import { KeepAsScope } from './scope.tsx'
import { SaveView } from './views.tsx'
import { duration, now, number } from './words.ts'

interface Page {
  readonly now: number
  readonly jobs: readonly JobSummary[]
  readonly next: string | null
}

export function JobsScreen(): JSX.Element {
  const { query } = place.value
  const key = query.toString()
  const [version, setVersion] = useState(0)
  // The same address asks for the same page, until it is reloaded: the list stays still.
  const path = useMemo(() => `/jobs?${pageQuery(query)}${version === 0 ? '' : `&at=${version}`}`, [key, version])
  const page = useResource<Page>(path)
  return (
    <>
      <h1>Jobs</h1>
      <Filters />
      <Loaded of={page}>
        {(data) => <List key={path} first={data} reload={() => setVersion((before) => before + 1)} />}
      </Loaded>
      <EndedOperations />
    </>
  )
}

const isByDue = (query: URLSearchParams): boolean => query.get('orderBy') === 'due'

/** @param chosen may have no jobs */
const optionsOf = (all: readonly string[], chosen: string | undefined): JSX.Element[] =>
  (chosen === undefined || all.includes(chosen) ? all : [...all, chosen].toSorted()).map((each) => (
    <option key={each} value={each}>
      {each}
    </option>
  ))

function Filters(): JSX.Element {
  const { query } = place.value
  const chosen = query.getAll('state')
  const [type] = query.getAll('type')
  const typeOptions = useMemo(() => optionsOf(types.value, type), [types.value, type])
  const toggle = (state: string): void =>
    replace(changed({ state: chosen.includes(state) ? chosen.filter((each) => each !== state) : [...chosen, state] }))
  return (
    <div class="filters">
      <Search text={searchText(query)} />
      <select
        aria-label="Type"
        value={type ?? ''}
        onChange={(event) => replace(changed({ type: event.currentTarget.value }))}
      >
        <option value="">every type</option>
        {typeOptions}
      </select>
      <select
        aria-label="Enqueued"
        value={query.get('within') ?? ''}
        onChange={(event) => replace(changed({ within: event.currentTarget.value }))}
      >
        <option value="">at any time</option>
        {Object.keys(withinChoices).map((each) => (
          <option key={each} value={each}>
            in the last {each.replace(/(\d+)/, '$1 ')}
          </option>
        ))}
      </select>
      <select
        aria-label="Order"
        value={query.get('orderBy') ?? ''}
        onChange={(event) => replace(changed({ orderBy: event.currentTarget.value }))}
      >
        <option value="">newest first</option>
        <option value="due">next due first</option>
      </select>
      <div class="chips" role="group" aria-label="States">
        {states.map((state) => (
          <button
            key={state}
            type="button"
            class={`state tone-${state} ${chosen.includes(state) ? 'on' : 'off'}`}
            aria-pressed={chosen.includes(state)}
            onClick={() => toggle(state)}
          >
            {state}
          </button>
        ))}
        <KeepAsScope />
        <SaveView />
        {[...query.keys()].some((key) => key !== 'scope') && (
          <a class="clear" href={link('jobs')}>
            clear
          </a>
        )}
      </div>
    </div>
  )
}

function Search({ text }: { readonly text: string }): JSX.Element {
  const [typed, setTyped] = useState(text)
  useEffect(() => setTyped(text), [text])
  const submit = (event: Event): void => {
    event.preventDefault()
    const { query, id } = readSearch(typed)
    if (id !== null) goFind(typed)
    else replace(changed({ ...withoutSearch(), ...query }))
  }
  return (
    <form role="search" onSubmit={submit}>
      <input
        type="search"
        data-search
        aria-label="Search"
        placeholder="anything, or tag:…, key:…, in:state, parent:…"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  )
}

function List({ first, reload }: { readonly first: Page; readonly reload: () => void }): JSX.Element {
  const { query } = place.value
  const [more, setMore] = useState<Page | null>(null)
  const [isLoading, setLoading] = useState(false)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [seen, setSeen] = useState<ReadonlyMap<string, JobState>>(new Map())
  const jobs = useMemo(() => [...first.jobs, ...(more?.jobs ?? [])], [first, more])
  const fresh = useFresh(first, jobs, setSeen)
  const next = more === null ? first.next : more.next
  const loadMore = async (): Promise<void> => {
    setLoading(true)
    try {
      const page = await get<Page>(`/jobs?${pageQuery(query)}&after=${encodeURIComponent(next ?? '')}`)
      setMore((before) => ({ ...page, jobs: [...(before?.jobs ?? []), ...page.jobs] }))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
    setLoading(false)
  }
  const choose = (id: string): void => setChosen((before) => before.symmetricDifference(new Set([id])))
  const isAdmin = about.value.role === 'admin'
  return (
    <>
      <div class="over-table">
        <button type="button" class={`fresh ${fresh === 0 ? 'none' : ''}`} disabled={fresh === 0} onClick={reload}>
          {freshText(fresh)}
        </button>
        {isAdmin && <Bulk chosen={[...chosen]} shown={jobs} done={reload} />}
      </div>
      {jobs.length === 0 ? (
        <Empty title="No job matches">
          {[...query.keys()].length === 0 ? 'The store holds no jobs.' : <a href={link('jobs')}>Clear the filters</a>}
        </Empty>
      ) : (
        <div class="scroll panel flush">
          <table class="jobs">
            <thead>
              <tr>
                {isAdmin && <td class="check" />}
                <th>State</th>
                <th>Type</th>
                <th>Job</th>
                <th class="wide">Where</th>
                <th class="num">Attempt</th>
                <th>Enqueued</th>
                <th class="wide">{isByDue(query) ? 'Due' : 'Took'}</th>
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <Row
                  key={job.id}
                  of={{ ...job, state: seen.get(job.id) ?? job.state }}
                  chosen={chosen.has(job.id)}
                  choose={isAdmin ? choose : null}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== null && (
        <button type="button" class="more" disabled={isLoading} onClick={() => void loadMore()}>
          {isLoading ? 'Loading…' : 'Load more'}
        </button>
      )}
    </>
  )
}

/** New jobs are counted up to this number: their ids are kept, and a busy store has many. */
const freshMax = 1_000

const freshText = (fresh: number | null): string =>
  fresh === null
    ? 'load anew'
    : fresh === 0
      ? 'up to date'
      : `${number(Math.min(fresh, freshMax))}${fresh > freshMax ? '+' : ''} new`

/**
 * How many jobs have come that would be in the list; null if that is not known. The states of those that are in it are
 * kept current.
 */
function useFresh(
  { now: since }: Page,
  shown: readonly JobSummary[],
  setSeen: (change: (before: ReadonlyMap<string, JobState>) => ReadonlyMap<string, JobState>) => void,
): number | null {
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const [isKnown, setKnown] = useState(true)
  const ids = useMemo(() => new Set(shown.map(({ id }) => id)), [shown])
  const { query } = place.value
  const types = query.getAll('type')
  const wanted = query.getAll('state')
  // A transition says nothing of tags, keys and parents: whether such a list has new jobs is not known.
  const isTold = [...query.keys()].every((key) => ['type', 'state', 'within', 'orderBy'].includes(key))
  useLive({
    onTransitions: (transitions) => {
      const mine = transitions.filter(
        ({ type, at }) => (types.length === 0 || types.includes(type)) && at >= since - 1_000,
      )
      const come = mine.filter(
        ({ id, event, to }) => !ids.has(id) && (wanted.length === 0 ? event === 'ENQUEUE' : wanted.includes(to)),
      )
      const moved = mine.filter(({ id }) => ids.has(id))
      if (come.length > 0 && !isTold) setKnown(false)
      if (come.length > 0 && isTold)
        setFresh((before) => (before.size > freshMax ? before : before.union(new Set(come.map(({ id }) => id)))))
      if (moved.length > 0) setSeen((before) => new Map([...before, ...moved.map(({ id, to }) => [id, to] as const)]))
    },
    onReset: () => setKnown(false),
  })
  return isKnown ? fresh.size : null
}

function Row({
  of,
  chosen,
  choose,
}: {
  readonly of: JobSummary
  readonly chosen: boolean
  readonly choose: ((id: string) => void) | null
}): JSX.Element {
  const { id, type, state, tags, attempt, maxAttempts, enqueuedAt, dueAt, startedAt, finishedAt, machineStates } = of
  const took = startedAt === null ? null : (finishedAt ?? (state === 'running' ? now.value : null))
  const leaf = machineStates.at(-1)
  return (
    <tr data-row tabindex={-1} data-href={jobLink(id)} class={chosen ? 'chosen' : ''}>
      {choose !== null && (
        <td class="check">
          <input type="checkbox" aria-label={`Choose ${id}`} checked={chosen} onChange={() => choose(id)} />
        </td>
      )}
      <td class="its-state">
        <State state={state} />
      </td>
      <td class="its-type">
        <span class="type" title={type}>
          {type}
        </span>
      </td>
      <td class="its-id">
        <a class="id" href={jobLink(id)} title={id}>
          {id}
        </a>
      </td>
      <td class="wide where">
        {leaf !== undefined && <span class="in">{leaf}</span>}
        {tags.map((tag) => (
          <a key={tag} class="tag" href={changed({ tag })}>
            {tag}
          </a>
        ))}
      </td>
      <td class="num">
        {attempt}
        <span class="muted"> / {maxAttempts}</span>
      </td>
      <td class="its-time">
        <Time at={enqueuedAt} />
      </td>
      <td class="wide muted">
        {isByDue(place.value.query) ? (
          <Time at={dueAt} />
        ) : took === null || startedAt === null ? (
          '–'
        ) : (
          duration(Math.max(0, took - startedAt))
        )}
      </td>
    </tr>
  )
}

const bulk = {
  retry: {
    verb: 'Retry',
    past: 'retried',
    text: 'Dead and cancelled jobs among them go to the end of their queue, with all their attempts.',
  },
  cancel: {
    verb: 'Cancel',
    past: 'cancelled',
    text: 'Jobs that do not run end at once; those that run are asked to end.',
  },
  discard: {
    verb: 'Discard',
    past: 'discarded',
    text: 'Jobs among them that have ended are removed with their input and errors. This cannot be undone.',
  },
} as const
type BulkAction = keyof typeof bulk

interface BulkProps {
  readonly chosen: readonly string[]
  readonly shown: readonly JobSummary[]
  readonly done: () => void
}

function Bulk({ chosen, shown, done }: BulkProps): JSX.Element {
  const { query } = place.value
  const filter = apiFilter(query)
  const isFiltered = Object.keys(filter).length > 0
  const start = async (action: BulkAction): Promise<void> => {
    const { verb, past, text } = bulk[action]
    const isAll = chosen.length === 0
    const { count, more } = isAll ? await matching(action) : { count: chosen.length, more: false }
    if (count === 0) return say(`None of these jobs can be ${past}.`)
    ask({
      title: `${verb} ${more ? `${number(count)}+ jobs` : counted(count, 'job')}?`,
      text: `${isAll ? 'All that match the filters, also those that are not shown. ' : ''}${text}`,
      verb,
      danger: action !== 'retry',
      ...(action === 'cancel' && { reason: 'Reason (kept with the jobs)' }),
      run: async (reason) => {
        const given = reason === '' ? {} : { reason }
        if (isAll) {
          const told = await changeAll(action, { filter, ...given, ...(!more && { expected: count }) })
          done()
          return told
        }
        const report = await post<Partial<Record<string, string[]>>>(`/jobs/${action}`, { ids: chosen, ...given })
        done()
        return `${number((report[past]?.length ?? 0) + (report['cancelling']?.length ?? 0))} ${past}.`
      },
    })
  }
  const matching = (change: BulkAction): Promise<{ readonly count: number; readonly more: boolean }> =>
    get(`/jobs/count?${apiQuery(query)}&change=${change}`)
  if (chosen.length === 0 && (!isFiltered || shown.length === 0))
    return <span class="muted hint">Choose jobs, or filter, to change many at once</span>
  return (
    <div class="actions">
      <span class="muted">{chosen.length > 0 ? `${number(chosen.length)} chosen` : 'all that match'}</span>
      {(Object.keys(bulk) as BulkAction[]).map((action) => (
        <button key={action} type="button" class={action === 'retry' ? '' : 'quiet'} onClick={() => void start(action)}>
          {bulk[action].verb}
        </button>
      ))}
    </div>
  )
}
