/** Mistakes that a store over a round trip could make: what it reads, believes, commits and tells. */
import { inFunction, inMethod, type Injection } from '../support/faults.ts'
import type { Mutant } from './hunt.ts'

const commits = () => import('../../src/stores/remote/commit.ts')
const documents = () => import('../../src/stores/remote/document.ts')
const drivers = () => import('../../src/stores/remote/driver.ts')
const figures = () => import('../../src/stores/remote/figures.ts')
const parts = () => import('../../src/stores/remote/parts.ts')
const sources = () => import('../../src/stores/remote/source.ts')
const transactions = () => import('../../src/stores/remote/transaction.ts')
const workingSets = () => import('../../src/stores/remote/working-set.ts')

const mutant = (name: string, noticedBy: string, fault: Injection): Mutant => ({
  name: `remote: ${name}`,
  noticedBy: `remote: ${noticedBy}`,
  fault,
})

/** A commit is made otherwise. */
const committing = (change: Parameters<typeof inFunction<Awaited<ReturnType<typeof commits>>, 'commitOf'>>[2]) =>
  inFunction(commits, 'commitOf', change)

const atOnce: readonly Mutant[] = [
  mutant(
    'a commit does not compare the jobs that were read',
    'a run that another process cancels before the commit ends as cancelled',
    committing((commitOf) => (transaction) => ({ ...commitOf(transaction), revisions: new Map() })),
  ),
  mutant(
    'a commit does not compare the small values that were read',
    'processes that claim at once keep to a rate',
    committing((commitOf) => (transaction) => ({ ...commitOf(transaction), cells: [] })),
  ),
  mutant(
    'a job has the same revision for ever',
    'a job that another process has changed before the commit is judged anew, and nothing is written twice',
    inFunction(documents, 'revisionOf', () => () => 'the same'),
  ),
  mutant(
    'what is stale is committed',
    'a key that another process has taken before the commit is answered with its holder',
    inFunction(commits, 'staleOf', () => () => []),
  ),
  mutant(
    'what has changed meanwhile is not read again',
    'a job that another process has changed before the commit is judged anew, and nothing is written twice',
    inMethod(workingSets, 'WorkingSet', 'forget', () => () => {}),
  ),
  mutant(
    'the room for jobs is not compared by the commit',
    'of inserts of two processes at once no more succeed than there is room for',
    inMethod(transactions, 'Transaction', 'needRoom', () => () => {}),
  ),
  mutant(
    'a prune removes a job whatever has become of it',
    'a job that was retried after a prune has found it is not removed',
    inMethod(transactions, 'Transaction', 'removeEnded', (_, { unit, source }) => (jobs) => {
      for (const row of source.findAll(jobs.map(({ id }) => id))) unit.remove(row)
    }),
  ),
]

const writes: readonly Mutant[] = [
  mutant(
    'answers have the numbers of before the commit',
    'a job that another process has changed before the commit is judged anew, and nothing is written twice',
    inFunction(transactions, 'numbered', () => (answer) => answer),
  ),
  mutant(
    'unique keys are not written',
    'contract: unique: an insert with a taken key is answered with its holder',
    committing((commitOf) => (transaction) => {
      const commit = commitOf(transaction)
      const isKey = ({ cells }: { readonly cells: string }): boolean => cells === 'holders'
      return {
        ...commit,
        writes: (base) => {
          const writes = commit.writes(base)
          return { ...writes, cells: writes.cells.filter((each) => !isKey(each)) }
        },
      }
    }),
  ),
  mutant(
    'hints follow from nothing',
    'contract: watch: an insert makes its type ready',
    inFunction(commits, 'hintsOf', () => () => []),
  ),
  mutant(
    'figures leave out what was counted',
    'contract: activity: every transition is counted in the minute and the hour of its time',
    inFunction(figures, 'foldFigures', (fold) => (before, written, type) => {
      return fold(before, { ...written, activity: [] }, type)
    }),
  ),
  mutant(
    'a search finds what does not match',
    'contract: reading: filters are all of the given fields, and any of a list',
    inFunction(documents, 'documentMatches', () => () => true),
  ),
  mutant(
    'calls overtake one another',
    'calls take effect in the order in which they are made, however long each takes',
    inMethod(drivers, 'RemoteDriver', 'inTurn', () => (work) => work()),
  ),
  mutant(
    'reads overtake writes',
    'a read sees what was asked for before it',
    inMethod(drivers, 'RemoteDriver', 'afterWrites', () => (read) => read()),
  ),
  mutant(
    'only the first part of a call is written',
    'contract: hand-over: each request of a call takes its slots from those after it, and one of several jobs is stored as a whole',
    inFunction(parts, 'insertParts', (insertParts) => (requests) => insertParts(requests).slice(0, 1)),
  ),
]

const reads: readonly Mutant[] = [
  mutant(
    'no unique key is held',
    'contract: unique: an insert with a taken key is answered with its holder',
    inMethod(sources, 'LoadedSource', 'holder', () => () => undefined),
  ),
  mutant(
    'no job has given up its key',
    'contract: succession: a job of the key that is inserted while that job is retrying waits, too',
    inMethod(sources, 'LoadedSource', 'hasPredecessor', () => () => false),
  ),
  mutant(
    'no job has child jobs',
    'contract: family cancel: a cancel also cancels the children and their descendants: reported as transitions, not by ids',
    inMethod(sources, 'LoadedSource', 'children', () => () => []),
  ),
  mutant(
    'no queue is paused',
    'contract: claim: a claim of a paused queue returns no jobs, with the reason paused',
    inMethod(transactions, 'Transaction', 'changeQueue', () => () => {}),
  ),
  mutant(
    'the backlog is empty',
    'contract: insert: a request beyond the capacity stores nothing',
    inMethod(sources, 'LoadedSource', 'backlogOf', () => () => 0),
  ),
  mutant(
    'nothing is due next',
    'contract: time: due jobs are promoted, earliest first, and never before their due time',
    inMethod(sources, 'LoadedSource', 'nextDueAt', () => () => null),
  ),
  mutant(
    'no lease runs out next',
    'contract: time: a job whose lease has run out is queued again at its old place, the attempt spent',
    inMethod(sources, 'LoadedSource', 'nextExpiryAt', () => () => null),
  ),
  mutant(
    'inboxes are empty',
    'contract: messages: a heartbeat brings the messages after the one it names, and none if it names none',
    inMethod(sources, 'LoadedSource', 'inbox', () => () => []),
  ),
]

export const remoteMutants: readonly Mutant[] = [...atOnce, ...writes, ...reads]
