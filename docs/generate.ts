/** Writes docs/lifecycle.md from the charts. `npm run docs`; a test compares what it gives with what is there. */
import { writeFileSync } from 'node:fs'
import { machines } from '../machines/index.ts'
import { allArrows, jobStates, statesTagged, type Arrow, type StateTag } from '../src/core/lifecycle.ts'

const tags: Record<StateTag, string> = {
  birth: 'an enqueue may put a job here',
  live: 'not ended: it keeps its unique key',
  backlog: 'counts against `capacity`',
  timed: 'may have a due time (`dueAt`)',
  leased: 'a worker holds a lease on it',
  ended: 'kept for `retention`',
}

const events: Record<string, string> = {
  DUE: 'its time has come',
  CLAIM: 'a worker takes it: attempt + 1, a fresh token, a lease',
  COMPLETE: 'the handler returned',
  FAIL: 'the handler threw, or its timeout passed',
  SNOOZE: 'the handler threw `snooze()`: later, the attempt is not spent',
  RELEASE: 'the runtime gives it back (shutdown): the attempt is not spent',
  EXPIRE: 'its lease ran out: the worker died or was cut off',
  PARK: 'a machine waits: no slot is taken',
  WAKE: 'an event or a timer arrived for a waiting machine',
  CANCEL: 'somebody cancelled it',
  RETRY: 'somebody sends it through again: a new generation',
}

interface Drawn {
  readonly from: string
  readonly to: string
  readonly label: string
}

function mermaid(births: readonly string[], arrows: readonly Drawn[], finals: readonly string[]): string {
  const joined = new Map<string, string[]>()
  for (const { from, to, label } of arrows) {
    const key = `${from} --> ${to}`
    joined.set(key, [...(joined.get(key) ?? []), label])
  }
  return [
    'stateDiagram-v2',
    ...births.map((state) => `  [*] --> ${state}`),
    ...[...joined].map(([arrow, labels]) => `  ${arrow}: ${labels.join(', ')}`),
    ...finals.map((state) => `  ${state} --> [*]`),
  ].join('\n')
}

/** The condition of an arrow: its guard, or that none before it was taken. */
function condition(arrow: Arrow): string {
  if (arrow.guard !== null) return arrow.guard
  const alone = allArrows.filter(({ from, event }) => from === arrow.from && event === arrow.event).length === 1
  return alone ? '' : 'otherwise'
}

const jobArrows = allArrows.map((arrow) => {
  const { from, to, event } = arrow
  const when = condition(arrow)
  return { from, to, label: when === '' ? event : `${event} [${when}]` }
})

/** The arrows of a flat chart as XState has them. */
const runtimeArrows: Drawn[] = Object.values(machines.runtime.states).flatMap((state) =>
  [...state.transitions].flatMap(([event, transitions]) =>
    transitions.flatMap(({ target, guard }) =>
      (target ?? []).map(({ key }) => ({
        from: state.key,
        to: key,
        label: typeof guard === 'string' ? `${event} [${guard}]` : event,
      })),
    ),
  ),
)

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`
const table = (head: string[], rows: string[][]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')
const fenced = (text: string): string => `\`\`\`mermaid\n${text}\n\`\`\``

/** The life of a job as a picture; the README shows it, too. */
export const jobPicture = (): string => fenced(mermaid([...statesTagged('birth')], jobArrows, ['done']))

export function lifecycleDocument(): string {
  const counting = { spendAttempt: 'attempt + 1', giveAttemptBack: 'attempt − 1', forgetAttempts: 'attempt = 0' }
  const does = (name: string | null): string =>
    name === null
      ? ''
      : name === 'openGeneration'
        ? 'generation + 1, attempt = 0'
        : counting[name as keyof typeof counting]
  return `# The life of a job

<!-- Generated from machines/ by \`npm run docs\`. -->

Every job lives by one chart, \`machines/job.machine.ts\`. The runtime's table, the stores' writes and this page are derived
from it.

${jobPicture()}

## States

${table(
  ['state', 'meaning', ...Object.keys(tags)],
  jobStates.map((state) => [
    `\`${state}\``,
    machines.job.states[state]?.description ?? '',
    ...Object.keys(tags).map((tag) => (statesTagged(tag as StateTag).has(state) ? '✓' : '')),
  ]),
)}

${Object.entries(tags)
  .map(([tag, meaning]) => `- **${tag}**: ${meaning}`)
  .join('\n')}

## Arrows

Arrows of one event are asked in this order; the first whose condition holds is taken.

${table(
  ['from', 'event', 'condition', 'to', 'counts'],
  allArrows.map((arrow) => [
    `\`${arrow.from}\``,
    arrow.event,
    condition(arrow),
    `\`${arrow.to}\``,
    does(arrow.counting),
  ]),
)}

- \`attemptsLeft\`: attempts spent < \`maxAttempts\`
- \`mayRetry\`: attempts left, and the failure is not fatal

## Events

${table(
  ['event', 'when'],
  Object.entries(events).map(([event, when]) => [event, when]),
)}

An enqueue (\`ENQUEUE\` in histories and events) is no arrow: it is how a job comes to be, \`scheduled\` or \`queued\`.

# The life of a runtime

\`machines/runtime.machine.ts\`; \`runtime.actor\` is a live XState actor of it.

${fenced(mermaid(['idle'], runtimeArrows, ['stopped']))}

${table(
  ['state', 'meaning', 'accepts jobs', 'picks jobs'],
  Object.values(machines.runtime.states).map((state) => [
    `\`${state.key}\``,
    state.description ?? '',
    state.tags.includes('accepts') ? '✓' : '',
    state.tags.includes('picks') ? '✓' : '',
  ]),
)}
`
}

if (import.meta.main) writeFileSync(new URL('lifecycle.md', import.meta.url), lifecycleDocument())
