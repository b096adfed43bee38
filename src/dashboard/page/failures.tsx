/** Dead jobs by type and error; a group is sent through again, one first. */
import type { JSX } from 'preact'
import type { FailureGroup } from '../overview.ts'
import { about } from './about.ts'
import { post, useResource } from './api.ts'
import { ask } from './dialog.tsx'
import { useLive } from './live.ts'
import { Empty, Loaded, Panel, QueueLink, Time } from './parts.tsx'
import { jobLink } from './router.ts'
import { number } from './words.ts'

interface Dead {
  readonly groups: readonly FailureGroup[]
  readonly looked: number
  readonly more: boolean
}

export function DeadScreen(): JSX.Element {
  const dead = useResource<Dead>('/dead')
  useLive({
    onTransitions: (transitions) =>
      transitions.some(({ to, from }) => to === 'dead' || from === 'dead') && dead.refresh(),
    onReset: dead.refresh,
  })
  return (
    <>
      <h1>Dead</h1>
      <Loaded of={dead}>
        {({ groups, looked, more }) => (
          <Panel title="By type and error" aside={more && <span class="muted">of the latest {number(looked)}</span>}>
            <Failures groups={groups} changed={dead.refresh} showType />
          </Panel>
        )}
      </Loaded>
    </>
  )
}

interface FailuresProps {
  readonly groups: readonly FailureGroup[]
  readonly changed: () => void
  readonly showType: boolean
}

export function Failures({ groups, changed, showType }: FailuresProps): JSX.Element {
  if (groups.length === 0)
    return <Empty title="No job is dead">Jobs that spend their attempts wait here for a person.</Empty>
  return (
    <ul class="groups">
      {groups.map((group) => (
        <Group key={`${group.type} ${group.name} ${group.message}`} of={group} changed={changed} showType={showType} />
      ))}
    </ul>
  )
}

function Group({
  of: { type, name, message, count, firstAt, lastAt, ids },
  changed,
  showType,
}: { readonly of: FailureGroup } & Omit<FailuresProps, 'groups'>): JSX.Element {
  const [first] = ids
  const retry = (some: readonly string[]) => async (): Promise<string> => {
    const { retried, refused } = await post<{ retried: string[]; refused: string[] }>('/jobs/retry', { ids: some })
    changed()
    return `${number(retried.length)} retried${refused.length === 0 ? '' : `, ${number(refused.length)} refused`}.`
  }
  const askAll = (): void =>
    ask({
      title: `Retry ${number(ids.length)} jobs of ${type}?`,
      text: 'They go to the end of their queue with all their attempts. Retry one first to see whether the cause is gone.',
      verb: `Retry ${number(ids.length)}`,
      run: retry(ids),
    })
  const askDiscard = (): void =>
    ask({
      title: `Discard ${number(ids.length)} jobs of ${type}?`,
      text: 'They are removed, with their input and their errors. This cannot be undone.',
      verb: `Discard ${number(ids.length)}`,
      danger: true,
      run: async () => {
        const { discarded } = await post<{ discarded: string[] }>('/jobs/discard', { ids })
        changed()
        return `${number(discarded.length)} discarded.`
      },
    })
  const askOne = (): void =>
    ask({ title: 'Retry one job?', text: `The latest: ${first}.`, verb: 'Retry one', run: retry(ids.slice(0, 1)) })
  return (
    <li data-row tabindex={-1} data-href={first === undefined ? undefined : jobLink(first)}>
      <b class="count">{number(count)}</b>
      <div>
        <p class="error-line">
          <strong>{name}</strong> {message}
        </p>
        <p class="muted">
          {showType && (
            <>
              <QueueLink type={type} />,{' '}
            </>
          )}
          {count > 1 && (
            <>
              first <Time at={firstAt} />,{' '}
            </>
          )}
          last <Time at={lastAt} />
          {first !== undefined && (
            <>
              , <a href={jobLink(first)}>look at the latest</a>
            </>
          )}
        </p>
      </div>
      {about.value.role === 'admin' && (
        <div class="actions">
          {count > 1 && (
            <button type="button" onClick={askOne}>
              Retry one
            </button>
          )}
          <button type="button" onClick={askAll}>
            {count > 1 ? 'Retry all' : 'Retry'}
          </button>
          <button class="quiet" type="button" onClick={askDiscard}>
            Discard
          </button>
        </div>
      )}
    </li>
  )
}
