/**
 * Checks a machine when its job is defined: every name is implemented, every option is valid, and nothing would be lost
 * or repeated wrongly after a crash. All problems are reported in one error, each with its place in the chart.
 */
import { getInitialSnapshot, type AnyStateMachine, type AnyStateNode } from 'xstate'
import { counted } from '../core/counted.ts'
import { describe, JobchartError } from '../core/errors.ts'
import { runnableCopy } from './built-ins.ts'
import { encode } from './codec.ts'
import { delayHint, isDelay } from './delays.ts'
import { actionSites, invokesOf, isMachine, namedActors, nodesOf, transitionsOf } from './machines.ts'
import { isBuiltIn } from './xstate-internals.ts'

/** What is wrong at one place of a machine. */
export interface MachineProblem {
  /** NOT_DURABLE for what would be lost in a crash. */
  readonly code: 'INVALID_OPTION' | 'NOT_DURABLE'
  /** The id of a state and the part of it: `order.review, invoke[0]`. */
  readonly place: string
  readonly what: string
  /** What to do about it. */
  readonly hint: string
}

/** Why a machine cannot be a job. Its message names the first 20 problems; `problems` has all of them. */
export class MachineError extends JobchartError {
  override readonly name = 'MachineError'
  readonly problems: readonly MachineProblem[]

  constructor(machine: string, problems: readonly MachineProblem[]) {
    const code = problems.some((problem) => problem.code === 'NOT_DURABLE') ? 'NOT_DURABLE' : 'INVALID_OPTION'
    const lines = problems.slice(0, problemsMax).map(({ place, what }) => `${place}: ${what}`)
    if (problems.length > problemsMax) lines.push(`and ${problems.length - problemsMax} more`)
    const message =
      lines.length === 1
        ? `machine ${machine} cannot be a job: ${lines[0]}`
        : `machine ${machine} cannot be a job, ${counted(problems.length, 'problem')}:\n- ${lines.join('\n- ')}`
    super(code, message, { hint: [...new Set(problems.map(({ hint }) => hint))].join(' ') })
    this.problems = problems
  }
}

/** Problems that the message of the error names. */
const problemsMax = 20

/**
 * @throws MachineError with all problems: NOT_DURABLE if a part of the machine, or of a machine among its actors, would
 * be lost in
 *   a crash; INVALID_OPTION if a part is not implemented or invalid
 */
export function checkMachine(machine: AnyStateMachine): void {
  const problems = [...problemsOf(machine, new Set())]
  if (problems.length > 0) throw new MachineError(machine.id, problems)
}

function* problemsOf(machine: AnyStateMachine, checked: Set<AnyStateMachine>): Iterable<MachineProblem> {
  if (checked.has(machine)) return
  checked.add(machine)
  const own = [
    ...actionProblems(machine),
    ...guardProblems(machine),
    ...actorProblems(machine),
    ...delayProblems(machine),
    ...idProblems(machine),
    ...spawnProblems(machine),
  ]
  yield* own
  // The context is made by running the machine, which needs all its implementations.
  if (own.length === 0) yield* contextProblems(machine)
  for (const [, logic] of namedActors(machine)) if (isMachine(logic)) yield* problemsOf(logic, checked)
}

// ── actions, guards, actors ────────────────────────────────────────────────────────────────────────────────────────

function* actionProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  for (const { place, actions } of actionSites(machine)) {
    for (const action of actions) {
      if (isBuiltIn(action)) yield* builtInProblems(machine, place, action)
      else if (typeof action !== 'function') {
        const name = nameOf(action)
        if (!isImplemented(machine.implementations.actions, name))
          yield notImplemented(place, 'action', name, 'actions')
      }
    }
  }
}

function* builtInProblems(
  machine: AnyStateMachine,
  place: string,
  { type, id, src, delay }: { type: string; id?: unknown; src?: unknown; delay?: unknown },
): Iterable<MachineProblem> {
  const at = typeof id === 'string' && id.startsWith('xstate.after.') ? afterPlace(place, delay) : place
  if (typeof delay === 'string' && !isImplemented(machine.implementations.delays, delay) && !isDelay(delay)) {
    const hint = "Implement it: setup({ delays: { … } }), or write a duration such as '30s' or '3d'."
    yield invalid(at, `the delay ${delay} is not implemented`, hint)
  } else if (typeof delay === 'number' && !isDelay(delay)) yield badDelay(at, delay)
  if (type !== 'xstate.spawnChild') return
  if (id === undefined) {
    const hint = "Give it one: spawnChild('child', { id: 'child-1' })."
    yield notDurable(place, 'a child spawned without an id cannot be durable', hint)
  }
  if (typeof src !== 'string') {
    const hint = 'Name it: setup({ actors: { … } }), and spawn it by its name.'
    yield notDurable(place, 'a child spawned from inline logic cannot be durable', hint)
  } else if (!isImplemented(machine.implementations.actors, src)) yield notImplemented(place, 'actor', src, 'actors')
}

/** XState turns each `after` into an entry action that sets its timer. */
const afterPlace = (entry: string, delay: unknown): string => entry.replace(/entry$/, `after ${String(delay)}`)

function* guardProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  for (const node of nodesOf(machine)) {
    for (const { place, transition } of transitionsOf(node)) {
      const guard: unknown = 'guard' in transition ? transition.guard : undefined
      for (const name of missingGuards(machine, guard, new Set())) yield notImplemented(place, 'guard', name, 'guards')
    }
  }
}

/** `and`, `or` and `not` hold the guards that they combine in `guards`. */
function* missingGuards(machine: AnyStateMachine, guard: unknown, seen: Set<string>): Iterable<string> {
  if (guard === undefined) return
  if (typeof guard === 'function') {
    const { guards = [] } = guard as { readonly guards?: readonly unknown[] }
    for (const each of guards) yield* missingGuards(machine, each, seen)
    return
  }
  const name = nameOf(guard)
  if (seen.has(name)) return
  seen.add(name)
  const { guards } = machine.implementations
  if (isImplemented(guards, name)) yield* missingGuards(machine, guards[name as never], seen)
  else yield name
}

function* actorProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  for (const node of nodesOf(machine)) {
    for (const [i, { src }] of invokesOf(node).entries()) {
      const place = `${node.id}, invoke[${i}]`
      if (typeof src === 'string') {
        if (!isImplemented(machine.implementations.actors, src)) yield notImplemented(place, 'actor', src, 'actors')
      } else if (isMachine(src)) {
        yield notDurable(place, `the inline machine ${src.id} cannot be durable`, 'Name it: setup({ actors: { … } }).')
      } else if (!isLogic(src)) {
        const hint = 'Invoke the name of an actor of setup({ actors: { … } }), or logic such as fromPromise(…).'
        yield invalid(place, `${describe(src)} is no actor logic`, hint)
      }
    }
  }
  for (const [name, logic] of namedActors(machine)) {
    if (isLogic(logic)) continue
    const hint = 'Give actor logic, such as fromPromise(…) or a machine.'
    yield invalid(`${machine.id}, actors.${name}`, `${describe(logic)} is no actor logic`, hint)
  }
}

const isLogic = (logic: unknown): boolean =>
  typeof logic === 'object' && logic !== null && 'transition' in logic && 'getInitialSnapshot' in logic

// ── delays, ids, context ───────────────────────────────────────────────────────────────────────────────────────────

function* delayProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  for (const [name, delay] of Object.entries(machine.implementations.delays as Readonly<Record<string, unknown>>)) {
    if (typeof delay === 'function' || isDelay(delay)) continue
    yield badDelay(`${machine.id}, delays.${name}`, delay)
  }
}

/**
 * Events and checkpoints name an actor by its id: two actors that are active at the same time must have different ids.
 */
function* idProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  const found = nodesOf(machine).flatMap((node) =>
    invokesOf(node).flatMap(({ id }, i) => (id === undefined ? [] : [{ id, node, i }])),
  )
  for (const [n, { id, node, i }] of found.entries()) {
    const other = found.slice(0, n).find((each) => each.id === id && mayBothBeActive(each.node, node))
    if (other === undefined) continue
    const what = `it has the id ${id}, as invoke[${other.i}] of ${other.node.id}, and both may be active at once`
    yield invalid(`${node.id}, invoke[${i}]`, what, 'Give each actor a different id.')
  }
}

/**
 * An actor that takes the id of an active one replaces it: the machine, and its checkpoint, have only the later one.
 */
function* spawnProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  const nodes = nodesOf(machine)
  const hint = 'Give each actor a different id.'
  for (const node of nodes) {
    const lists = [
      { place: `${node.id}, entry`, actions: node.entry },
      { place: `${node.id}, exit`, actions: node.exit },
      ...[...transitionsOf(node)].map(({ place, transition }) => ({ place, actions: transition.actions })),
    ]
    for (const { place, actions } of lists) {
      const ids = spawnedIds(actions)
      for (const id of new Set(ids.filter((each, i) => ids.indexOf(each) !== i))) {
        yield invalid(place, `it spawns two actors with the id ${id}`, hint)
      }
    }
    for (const id of new Set(spawnedIds(node.entry))) {
      const other = nodes.find(
        (each) => invokesOf(each).some((invoke) => invoke.id === id) && mayBothBeActive(each, node),
      )
      if (other === undefined) continue
      yield invalid(
        `${node.id}, entry`,
        `it spawns an actor with the id ${id}, which one that ${other.id} invokes has`,
        hint,
      )
    }
  }
}

const spawnedIds = (actions: readonly unknown[]): string[] =>
  actions.flatMap((action) =>
    isBuiltIn(action) && action.type === 'xstate.spawnChild' && typeof action.id === 'string' ? [action.id] : [],
  )

function mayBothBeActive(a: AnyStateNode, b: AnyStateNode): boolean {
  const above = new Set(selfAndAncestors(a))
  const common = [...selfAndAncestors(b)].find((node) => above.has(node))
  return common === a || common === b || common?.type === 'parallel'
}

function* selfAndAncestors(node: AnyStateNode): Iterable<AnyStateNode> {
  yield node
  if (node.parent !== undefined) yield* selfAndAncestors(node.parent)
}

/** The initial context must be JSON. It cannot be checked if it depends on the input. */
function* contextProblems(machine: AnyStateMachine): Iterable<MachineProblem> {
  const first: unknown = machine.config.context
  if (typeof first === 'function' && first.length > 0) return
  let context: unknown
  try {
    const copy = runnableCopy(machine)
    const snapshot = getInitialSnapshot(copy)
    const kept: object = copy.getPersistedSnapshot(snapshot)
    context = 'context' in kept ? kept.context : undefined
  } catch {
    // The context needs an input or throws: the first attempt of a job reports it.
    return
  }
  try {
    encode({ context })
  } catch (error) {
    if (!(error instanceof JobchartError)) throw error
    const hint = 'The context is stored as JSON: use text, numbers, lists and plain objects (a Date as its time).'
    yield notDurable(machine.id, error.message, hint)
  }
}

// ── problems ───────────────────────────────────────────────────────────────────────────────────────────────────────

const invalid = (place: string, what: string, hint: string): MachineProblem => ({
  code: 'INVALID_OPTION',
  place,
  what,
  hint,
})
const notDurable = (place: string, what: string, hint: string): MachineProblem => ({
  code: 'NOT_DURABLE',
  place,
  what,
  hint,
})

const notImplemented = (place: string, kind: string, name: string, option: string): MachineProblem =>
  invalid(place, `the ${kind} ${name} is not implemented`, `Implement it: setup({ ${option}: { … } }).`)

const badDelay = (place: string, delay: unknown): MachineProblem =>
  invalid(place, `the delay is ${describe(delay)}`, delayHint)

const nameOf = (named: unknown): string =>
  typeof named === 'object' && named !== null && 'type' in named ? String(named.type) : String(named)

const isImplemented = (implementations: object, name: string): boolean =>
  Object.hasOwn(implementations, name) && (implementations as Readonly<Record<string, unknown>>)[name] !== undefined
