/**
 * Writes docs/lifecycle.md, docs/command-line.md, docs/benchmarks.md with its pictures, llms.txt and the pictures in
 * docs/charts/: `npm run docs`. A test compares them with the files.
 */
import { writeFileSync } from 'node:fs'
import { machines } from '../machines/index.ts'
import { toSvg, type ChartSource, type SvgOptions } from 'jobchart/chart'
import { benchmarksDocument, benchmarksPicture } from './benchmarks.ts'
import { checkout } from './charts/checkout.ts'
import { commandLineDocument } from './command-line.ts'
import { llmsText } from './llms.ts'
import { allArrows, jobStates, statesTagged, type Arrow, type StateTag } from '../src/core/lifecycle.ts'

const tags: Record<StateTag, string> = {
  birth: 'initial state of an enqueue',
  live: 'not ended',
  backlog: 'counts towards `capacity`',
  timed: 'may have a due time (`dueAt`)',
  leased: 'a worker holds a lease on the job',
  ended: 'removed by `retention`',
}

const events: Record<string, string> = {
  DUE: 'its due time has come, or the job that it waits for has ended',
  CLAIM: 'a worker claims it: attempt + 1, a new token, a lease',
  COMPLETE: 'the handler has returned',
  FAIL: 'the handler has thrown, or the attempt timed out',
  SNOOZE: 'the handler has thrown `snooze()`: the job runs later, the attempt is not spent',
  RELEASE: 'the runtime gives up its lease (shutdown, pause): the attempt is not spent',
  EXPIRE: 'its lease has run out: the worker has crashed or was cut off',
  PARK: 'its machine waits: the job occupies no slot',
  WAKE: 'a message or a timer has arrived for the waiting machine',
  CANCEL: 'it is cancelled',
  RETRY: 'it is retried after its end: a new generation',
}

/** The condition of an arrow: its guard, or `otherwise` after arrows with a guard. */
function condition(arrow: Arrow): string {
  if (arrow.guard !== null) return arrow.guard
  const alone = allArrows.filter(({ from, event }) => from === arrow.from && event === arrow.event).length === 1
  return alone ? '' : 'otherwise'
}

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`
const table = (head: string[], rows: string[][]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')
/**
 * A picture in the reader's theme, as GitHub and npm show it.
 * @param folder path of docs/charts/ relative to the page
 */
export const picture = (name: string, alt: string, folder: string): string =>
  [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${folder}/${name}-dark.svg">`,
    `  <img alt="${alt}" src="${folder}/${name}-light.svg">`,
    '</picture>',
  ].join('\n')

const jobAlt =
  'The states of a job: queued, running, done; retrying, dead; scheduled, waiting; cancelling, cancelled; and the events between them'

/** The picture of the job chart, for a page in the root of the repository. */
export const jobPicture = (): string => picture('job', jobAlt, 'docs/charts')

const drawn: readonly (readonly [name: string, source: ChartSource, options: SvgOptions])[] = [
  ['job', machines.job, { direction: 'down', tags: false, actions: false }],
  ['runtime', machines.runtime, { tags: false }],
  ['checkout', checkout, {}],
  [
    'checkout-live',
    checkout,
    {
      active: { delivery: { parcel: 'packing', letter: 'written' } },
      counts: { cart: 12, paying: 3, delivery: 41, delivered: 1_204, abandoned: 87 },
      path: ['cart', 'paying', 'cart', 'paying', 'delivery'],
      tones: { delivered: 'done', abandoned: 'dead' },
    },
  ],
]

/** The pictures of docs/charts/ by the name of their file. */
export async function pictures(): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for (const [name, source, options] of drawn) {
    for (const theme of ['light', 'dark'] as const) {
      files.set(`${name}-${theme}.svg`, await toSvg(source, { ...options, theme }))
    }
  }
  return files
}

export function lifecycleDocument(): string {
  const counting = { spendAttempt: 'attempt + 1', giveAttemptBack: 'attempt − 1', forgetAttempts: 'attempt = 0' }
  const does = (name: string | null): string =>
    name === null
      ? ''
      : name === 'openGeneration'
        ? 'generation + 1, attempt = 0'
        : counting[name as keyof typeof counting]
  return `# Lifecycle of a job

<!-- Generated from machines/ by \`npm run docs\`. -->

The chart \`machines/job.machine.ts\` defines all states and arrows of a job. The table of the runtime, the writes of the stores
and this page are derived from it.

${picture('job', jobAlt, 'charts')}

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

Arrows with the same source state and event are checked in this order; the first one whose condition holds is taken.

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

\`ENQUEUE\`, in histories and events, is not an arrow: it creates a job that is \`scheduled\` or \`queued\`.

# Lifecycle of a runtime

\`machines/runtime.machine.ts\`; \`runtime.actor\` is a live XState actor of it.

${picture('runtime', 'The states of a runtime', 'charts')}

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

if (import.meta.main) {
  writeFileSync(new URL('command-line.md', import.meta.url), commandLineDocument())
  writeFileSync(new URL('benchmarks.md', import.meta.url), benchmarksDocument())
  for (const theme of ['light', 'dark'] as const) {
    writeFileSync(new URL(`images/benchmarks-${theme}.svg`, import.meta.url), benchmarksPicture(theme))
  }
  writeFileSync(new URL('lifecycle.md', import.meta.url), lifecycleDocument())
  writeFileSync(new URL('../llms.txt', import.meta.url), llmsText())
  for (const [name, svg] of await pictures()) writeFileSync(new URL(`charts/${name}`, import.meta.url), svg)
}
