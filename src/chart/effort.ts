/** How much work a layout is, estimated before it is begun: ELK cannot be interrupted. */
import { lineage, statesById, type ChartState } from './graph.ts'
import type { Measured, Plan } from './elk-graph.ts'

/** What each plan lays out at most in about a second: nodes and bends. */
const limits: Readonly<Record<Plan['placement'], number>> = { NETWORK_SIMPLEX: 300, LINEAR_SEGMENTS: 700 }

/** Is a layout with this placement done in about `seconds`? */
export const isWithin = (effort: number, placement: Plan['placement'], seconds: number): boolean =>
  // The time of network simplex grows with the third power, that of the other with the square.
  effort <= limits[placement] * seconds ** (placement === 'NETWORK_SIMPLEX' ? 1 / 3 : 1 / 2)

/**
 * The number of nodes that ELK lays out: states, labels, and a bend in each layer that an arrow passes. The bends are
 * what makes the time explode: a transition from each of 20 states in a row to the last one adds 400.
 */
export function effortOf({ graph, arrows }: Measured): number {
  const states = statesById(graph)
  const layers = layersOf(graph.states, arrows)
  let effort = graph.states.length
  for (const { sources, targets, label, isBundle, isLoop } of arrows) {
    effort += label === null ? 0 : 1
    if (isLoop || isBundle) continue
    for (const source of sources) {
      for (const target of targets) {
        const levels = Math.abs(lineage(states, source).length - lineage(states, target).length)
        effort += 2 * Math.abs((layers.get(source) ?? 0) - (layers.get(target) ?? 0)) + levels
      }
    }
  }
  return effort
}

/** The layer of each state: the longest way from a start, without the arrows that a walk finds to lead back. */
function layersOf(states: readonly ChartState[], arrows: Measured['arrows']): ReadonlyMap<string, number> {
  const next = new Map<string, string[]>()
  const link = (from: string, to: string): void => {
    const list = next.get(from)
    if (list === undefined) next.set(from, [to])
    else list.push(to)
  }
  for (const { id, initial } of states) for (const target of initial?.targets ?? []) link(id, target)
  for (const { sources, targets, isBundle } of arrows) {
    for (const source of isBundle ? [] : sources) for (const target of targets) link(source, target)
  }
  const order = walkOrder(states, next)
  const layers = new Map<string, number>()
  for (const id of order.keys()) {
    const layer = layers.get(id) ?? 0
    layers.set(id, layer)
    for (const to of next.get(id) ?? []) {
      const isForward = (order.get(to) ?? 0) > (order.get(id) ?? 0)
      if (isForward) layers.set(to, Math.max(layers.get(to) ?? 0, layer + 1))
    }
  }
  return layers
}

/**
 * The states in the order in which each comes before those it leads to, but for what leads back on a walk depth first.
 */
function walkOrder(
  states: readonly ChartState[],
  next: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, number> {
  const seen = new Set<string>()
  const left: string[] = []
  for (const { id: start } of states) {
    if (seen.has(start)) continue
    seen.add(start)
    // Own stack: a chain of 10,000 states is too deep for that of calls.
    const stack = [{ id: start, at: 0 }]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const to = next.get(top.id)?.[top.at]
      top.at += 1
      if (to === undefined) {
        left.push(top.id)
        stack.pop()
      } else if (!seen.has(to)) {
        seen.add(to)
        stack.push({ id: to, at: 0 })
      }
    }
  }
  return new Map(left.toReversed().map((id, index) => [id, index]))
}
