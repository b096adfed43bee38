/**
 * Reads a machine of XState into a graph, by walking its state nodes: XState's own JSON leaves out `always` and initial
 * transitions.
 */
import { createMachine, type AnyStateMachine } from 'xstate'
import { isOptions } from '../core/checks.ts'
import { invalidOption } from '../core/errors.ts'
import { hasOwnId, type ChartGraph, type ChartInvoke, type ChartState, type ChartTransition } from './graph.ts'
import { actionInWords, eventInWords, guardInWords } from './words.ts'

/** The config a machine is made of, read by its form: what `createMachine` takes. */
export interface ChartConfig {
  readonly id?: string | undefined
  readonly type?: 'atomic' | 'compound' | 'parallel' | 'final' | 'history' | undefined
  readonly initial?: unknown
  readonly states?: unknown
  readonly on?: unknown
  readonly always?: unknown
  readonly after?: unknown
  readonly invoke?: unknown
  readonly entry?: unknown
  readonly exit?: unknown
  readonly onDone?: unknown
  readonly tags?: unknown
  readonly meta?: unknown
  readonly context?: unknown
  readonly output?: unknown
  readonly description?: string | undefined
}

/**
 * What can be drawn: an XState machine, its root state node, its config, or a graph that was drawn from one of them.
 */
export type ChartSource = AnyStateMachine | AnyStateMachine['root'] | ChartConfig | ChartGraph

type StateNode = AnyStateMachine['root']
type Definition = StateNode['transitions'] extends Map<string, (infer Each)[]> ? Each : never

/**
 * A machine as plain data: states with their type, actions, actors, tags and description, and every transition with its
 * event, guard, actions and delay in words. Nothing of the machine is run.
 * @param source an XState machine, its root, its config, or a graph (which is returned as it is)
 * @returns strict JSON, the same for the same machine
 * @throws JobchartError INVALID_OPTION if it is none of these, or its config is one XState refuses
 *
 * @example
 * toGraph(orderMachine).transitions.map(({ source, label, targets }) => `${source} ${label} ${targets}`)
 */
export function toGraph(source: ChartSource): ChartGraph {
  if (!isOptions(source)) throw invalidOption('machine', expected, source)
  if (isGraph(source)) return source
  const root = rootOf(source)
  const states: ChartState[] = []
  const transitions: ChartTransition[] = []
  const walk = (node: StateNode): void => {
    states.push(stateOf(node))
    transitions.push(...transitionsOf(node))
    for (const child of Object.values(node.states)) walk(child)
  }
  walk(root)
  return { id: root.id, description: root.description ?? null, states, transitions }
}

const expected = 'an XState machine, its root, its config, or the result of toGraph'

const isGraph = (source: ChartSource): source is ChartGraph =>
  'transitions' in source && Array.isArray(source.transitions) && 'states' in source && Array.isArray(source.states)

function rootOf(source: Exclude<ChartSource, ChartGraph>): StateNode {
  if ('root' in source && 'getStateNodeById' in source) return source.root
  if ('machine' in source && 'order' in source) return source
  try {
    return createMachine(source as Parameters<typeof createMachine>[0]).root
  } catch (cause) {
    const error = invalidOption('machine', expected, source, 'createMachine(machine) throws: the cause says why.')
    error.cause = cause
    throw error
  }
}

const listOf = (value: unknown): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

const actionsInWords = (actions: unknown): string[] => listOf(actions).map(actionInWords)

function stateOf(node: StateNode): ChartState {
  return {
    id: node.id,
    key: node.key,
    path: [...node.path],
    parent: node.parent?.id ?? null,
    children: Object.values(node.states).map((child) => child.id),
    type: node.type,
    history: node.type === 'history' ? node.history || 'shallow' : null,
    initial: initialOf(node),
    description: node.description ?? null,
    tags: [...node.tags],
    // `node.entry` and `node.exit` hold the timers of `after`, too.
    entry: actionsInWords(node.config.entry),
    exit: actionsInWords(node.config.exit),
    invokes: node.invoke.map((invoke) => invokeOf(invoke.id, invoke.src)),
    hidden: 0,
  }
}

function initialOf(node: StateNode): ChartState['initial'] {
  if (node.type === 'compound') {
    const { target, actions } = node.initial
    return { targets: listOf(target).map((each) => (each as StateNode).id), actions: actionsInWords(actions) }
  }
  const { target } = node.config as { target?: string | readonly string[] }
  if (node.type !== 'history' || target === undefined) return null
  return { targets: listOf(target).map((each) => targetOfHistory(node, String(each))), actions: [] }
}

function targetOfHistory(node: StateNode, target: string): string {
  if (target.startsWith('#')) return node.machine.getStateNodeById(target).id
  let at = node.parent as StateNode
  for (const key of target.replace(/^\./, '').split('.')) at = at.states[key] as StateNode
  return at.id
}

function invokeOf(id: string, logic: unknown): ChartInvoke {
  const named = typeof logic === 'string' && !logic.startsWith('xstate.invoke.') ? logic : null
  return { id, source: named ?? 'inline' }
}

const nameOfActor = (invoke: ChartInvoke): string =>
  hasOwnId(invoke) ? invoke.id : invoke.source === 'inline' ? 'actor' : invoke.source

function transitionsOf(node: StateNode): ChartTransition[] {
  const actors = new Map(
    node.invoke.map((invoke) => [invoke.id, nameOfActor(invokeOf(invoke.id, invoke.src))] as const),
  )
  const byEvent = [...node.transitions].flatMap(([event, definitions]) =>
    definitions.map((definition, index) => transitionOf(node, event, definition, index, definitions, actors)),
  )
  const always = (node.always ?? []).map((definition, index, all) =>
    transitionOf(node, '', definition, index, all, actors),
  )
  return [...always, ...byEvent]
}

function transitionOf(
  node: StateNode,
  event: string,
  definition: Definition,
  index: number,
  all: readonly Definition[],
  actors: ReadonlyMap<string, string>,
): ChartTransition {
  const targets = (definition.target ?? []).map(({ id }) => id)
  const actions = actionsInWords(definition.actions)
  const words =
    event === '' ? { kind: 'always' as const, label: '', delay: null } : eventInWords(event, node.id, actors)
  return {
    id: `${node.id}:${event}:${index}`,
    source: node.id,
    targets,
    ...words,
    event,
    guard: definition.guard === undefined ? null : guardInWords(definition.guard),
    otherwise: all.slice(0, index).some(({ guard }) => guard !== undefined),
    actions,
    targetless: targets.length === 0,
    self: targets.length === 1 && targets[0] === node.id,
    forbidden: targets.length === 0 && actions.length === 0,
    reenter: definition.reenter,
    description: definition.description ?? null,
  }
}
