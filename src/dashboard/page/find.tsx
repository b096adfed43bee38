/** One search: hits as one types, with the number of their jobs, and a screen that says what was searched. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { counted } from '../../core/counted.ts'
import type { FindHit, FindKind, FindOther, FindResult, JobSummary } from '../../index.ts'
import { metaText } from '../meta-member.ts'
import { useResource } from './api.ts'
import { readSearch } from './filters.ts'
import { Empty, Loaded, Panel, State, Time } from './parts.tsx'
import { go, jobLink, link, place, replace } from './router.ts'

/** What was typed is searched when nothing was typed for so long, ms. */
const typingMs = 150

export const hitWords: Readonly<Record<FindKind, string>> = {
  job: 'Job',
  key: 'Key',
  meta: 'Meta',
  tag: 'Tag',
  concurrencyKey: 'Concurrency key',
  type: 'Type',
  machineState: 'State',
  machineTag: 'Tag of machines',
  failure: 'Failure',
}

/** What is looked for among ids, keys, …, in the middle of a sentence. */
const searchedWords: Readonly<Record<FindKind, string>> = {
  job: 'ids',
  key: 'unique keys',
  meta: 'values of meta',
  tag: 'tags',
  concurrencyKey: 'concurrency keys',
  type: 'types',
  machineState: 'states of machines',
  machineTag: 'tags of machines',
  failure: 'errors',
}

/** A filter as the address of a list has it. */
function queryOf({ filter }: FindHit): Readonly<Record<string, string>> {
  const { meta, ...others } = filter ?? {}
  const members = Object.entries(meta ?? {}).map(([name, value]) => metaText(name, value))
  return { ...(others as Readonly<Record<string, string>>), ...(members[0] !== undefined && { meta: members[0] }) }
}

export const hitLink = (hit: FindHit): string =>
  hit.kind === 'job' ? jobLink(hit.value) : link('jobs', '', queryOf(hit))

/** What a hit is, as one reads it: `customer=cus_9`. */
export const hitText = ({ kind, name, value }: FindHit): string => (kind === 'meta' ? `${name}=${value}` : value)

export const hitCount = ({ kind, jobs, failed, more, name }: FindHit): string => {
  if (kind === 'job') return ''
  // Of many failures no job has died.
  const isAttempts = failed !== undefined && jobs === 0
  const jobsWord = failed === undefined ? 'job' : 'dead job'
  const count = `${isAttempts ? counted(failed, 'failed attempt') : counted(jobs, jobsWord)}${more ? ' or more' : ''}`
  return kind === 'meta' || name === null ? count : `${count} of ${name}`
}

export const otherWords: Readonly<Record<FindOther['kind'], string>> = { worker: 'Worker', schedule: 'Schedule' }

/** The screen of workers or schedules with this one. */
export const otherLink = ({ kind, name }: FindOther): string => link(`${kind}s`, '', { text: name })

/** Without what is near to a text that is a filter, such as `tag:vip`: it is not searched for. */
export const withoutNearFilter = (result: FindResult): FindResult =>
  result.near !== null && Object.keys(readSearch(result.text).query).length > 0
    ? { ...result, hits: [], others: [], near: null }
    : result

/** How the text of an answer was read, where it was not found as it is. */
export function findSaid({ text, hits, others = [], near, as: read, searched }: FindResult): string {
  if (read !== undefined) return `Nothing has “${text}”. As “${read}”:`
  if (near !== null) return `Nothing has “${text}”. These have “${near}”:`
  return hits.length + others.length === 0 ? `Nothing has “${text}”. ${searchedSaid(searched)}` : ''
}

/** What was looked at. */
function searchedSaid(searched: FindResult['searched']): string {
  const list = (some: FindResult['searched']): string => some.map(({ kind }) => searchedWords[kind]).join(', ')
  const partly = searched.filter(({ newest }) => newest !== null)
  const wholly = searched.filter(({ newest }) => newest === null)
  const [first] = partly
  return [
    wholly.length > 0 && `Searched of all jobs: ${list(wholly)}.`,
    first !== undefined &&
      `Of the ${counted(first.newest ?? 0, 'job')} that were enqueued last: ${list(partly)}. This store has no index of these.`,
    'Also the names of workers and schedules.',
  ]
    .filter((part) => part !== false)
    .join(' ')
}

/** Of an input for ids and keys: a phone changes what is typed otherwise. */
export const asTyped = { autocapitalize: 'off', autocorrect: 'off', spellcheck: false } as const

/** The path of a search; null for nothing but space. */
export const findPath = (text: string, limit: number): string | null =>
  text.trim() === '' ? null : `/find?${new URLSearchParams({ text: text.trim().slice(0, 200), limit: String(limit) })}`

/** A text some time after it was typed. */
export function useTyped(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

export function FindScreen(): JSX.Element {
  const { name: text } = place.value
  const [typed, setTyped] = useState(text)
  useEffect(() => setTyped(text), [text])
  return (
    <>
      <h1>Search</h1>
      <form
        class="search-form"
        role="search"
        onSubmit={(event) => {
          event.preventDefault()
          if (typed.trim() !== '') replace(link('find', typed.trim()))
        }}
      >
        <input
          type="search"
          data-search
          aria-label="Search"
          {...asTyped}
          placeholder="an id, a key, a tag, a value of meta, an error, a state"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </form>
      <Hits text={text} opens />
    </>
  )
}

/** What is shown instead of a job that is not there. */
export const NoJob = ({ id }: { readonly id: string }): JSX.Element => (
  <>
    <h1>
      There is no job <span class="id">{id}</span>
    </h1>
    <p class="muted">It was removed by retention, discarded, or never enqueued.</p>
    <Hits text={id} />
  </>
)

/** @param opens goes to the job at once if the text is its id and nothing else */
function Hits({ text, opens = false }: { readonly text: string; readonly opens?: boolean }): JSX.Element {
  const found = useResource<FindResult>(findPath(text, 8))
  const exact = found.data?.hits.filter((hit) => hit.exact) ?? []
  const [only] = exact
  useEffect(() => {
    if (opens && exact.length === 1 && only?.kind === 'job') replace(jobLink(only.value))
  }, [found.data])
  if (text.trim() === '') {
    return (
      <Empty title="Search everything">
        The beginning of an id, a key, a tag or a value of meta; or a part of a type, an error or a state of machines.
      </Empty>
    )
  }
  return <Loaded of={found}>{(result) => <Result of={withoutNearFilter(result)} />}</Loaded>
}

function Result({ of }: { readonly of: FindResult }): JSX.Element {
  const { text, hits, others = [], near, searched, as: read } = of
  const [first] = hits
  return (
    <>
      {(hits.length + others.length === 0 || near !== null || read !== undefined) && (
        <Empty title={`Nothing has “${text}”`}>
          {near !== null && `These have “${near}”.`}
          {read !== undefined && `These are found as “${read}”.`}
        </Empty>
      )}
      {near === null && first !== undefined && first.filter !== null && <JobsOf hit={first} />}
      {hits.length > 0 && (
        <Panel title={near === null ? 'Found' : 'Near it'}>
          <ul class="lines hits">
            {hits.map((hit) => (
              <li key={`${hit.kind} ${hit.name} ${hit.value}`} data-row tabindex={-1} data-href={hitLink(hit)}>
                <small class="muted">{hitWords[hit.kind]}</small>
                <a class={hit.exact ? 'type' : ''} href={hitLink(hit)}>
                  {hitText(hit)}
                </a>
                <span class="muted">{hitCount(hit)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {others.length > 0 && <Others of={others} />}
      <p class="muted hint">{searchedSaid(searched)}</p>
    </>
  )
}

const Others = ({ of }: { readonly of: readonly FindOther[] }): JSX.Element => (
  <Panel title="Workers and schedules">
    <ul class="lines hits">
      {of.map((other) => (
        <li key={`${other.kind} ${other.name} ${other.of}`} data-row tabindex={-1} data-href={otherLink(other)}>
          <small class="muted">{otherWords[other.kind]}</small>
          <a href={otherLink(other)}>{other.name}</a>
          <span class="muted">{other.of}</span>
        </li>
      ))}
    </ul>
  </Panel>
)

/** The newest jobs of the first hit: mostly one of them is what was looked for. */
function JobsOf({ hit }: { readonly hit: FindHit }): JSX.Element {
  const query = new URLSearchParams({ ...queryOf(hit), limit: '8' })
  const page = useResource<{ readonly jobs: readonly JobSummary[] }>(`/jobs?${query}`)
  return (
    <Panel title={`The newest of ${hitText(hit)}`} aside={<a href={hitLink(hit)}>{hitCount(hit)}</a>}>
      <Loaded of={page}>
        {({ jobs }) => (
          <ul class="lines">
            {jobs.map(({ id, type, state, enqueuedAt, machineStates }) => (
              <li key={id} data-row tabindex={-1} data-href={jobLink(id)}>
                <State state={state} />
                <a class="id" href={jobLink(id)}>
                  {id}
                </a>
                <span>{type}</span>
                {machineStates.length > 0 && <span class="in">{machineStates.at(-1)}</span>}
                <span class="muted">
                  <Time at={enqueuedAt} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  )
}

/** To the search for a text. */
export const goFind = (text: string): void => go(link('find', text.trim()))
