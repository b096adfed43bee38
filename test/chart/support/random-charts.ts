/** Charts by chance, from a seed: nested, parallel, with history, and transitions between any two states. */
import { createMachine, type AnyStateMachine } from 'xstate'

/** mulberry32 */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

interface Node {
  [key: string]: unknown
  states?: Record<string, Node>
}

const words = ['GO', 'STOP', 'APPROVE', 'job.cancel', 'TICK', 'PAYMENT_RECEIVED', 'x', 'RETRY', 'NEXT', 'BACK']

/** A chart of about `size` states; the same for the same seed. */
export function randomChart(seed: number, size: number): AnyStateMachine {
  const below = chance(seed)
  const ids: string[] = []
  const nodes: { node: Node; isLeaf: boolean }[] = []
  let left = size
  const grow = (depth: number, inParallel: boolean): Record<string, Node> => {
    const count = 2 + below(depth === 0 ? 5 : 3)
    const states: Record<string, Node> = {}
    for (let index = 0; index < count && left > 0; index += 1) {
      left -= 1
      const id = `s${ids.length}`
      ids.push(id)
      const node: Node = { id }
      const kind = below(10)
      const isGroup = depth < 3 && left > 3 && (kind < 3 || inParallel)
      if (isGroup) fill(node, depth + 1, kind === 0)
      else if (kind === 9 && index > 0 && !inParallel) node['type'] = 'final'
      nodes.push({ node, isLeaf: !isGroup })
      states[`${words[below(words.length)]!.toLowerCase().replace('.', '-')}${id}`] = node
    }
    return states
  }
  const fill = (node: Node, depth: number, parallel: boolean): void => {
    node.states = grow(depth, parallel)
    const keys = Object.keys(node.states)
    if (parallel) node['type'] = 'parallel'
    else node['initial'] = keys[0]
    if (!parallel && below(6) === 0) {
      node.states['hist'] = { id: `h${ids.length}`, type: 'history', history: below(2) === 0 ? 'deep' : 'shallow' }
      ids.push(`h${ids.length}`)
    }
  }
  const root: Node = { id: `random-${seed}` }
  fill(root, 0, false)
  for (const { node } of nodes) if (node['type'] !== 'final') decorate(node, ids, below)
  return createMachine(root as Parameters<typeof createMachine>[0])
}

function decorate(node: Node, ids: readonly string[], below: (limit: number) => number): void {
  const on: Record<string, unknown> = {}
  const target = (): string => `#${ids[below(ids.length)]!}`
  for (let count = below(4); count > 0; count -= 1) {
    const event = words[below(words.length)]!
    const kind = below(8)
    if (kind === 0) on[event] = { actions: ['note', 'count'] }
    else if (kind === 1)
      on[event] = [
        { guard: 'isReady', target: target() },
        { target: target(), actions: 'warn' },
      ]
    else if (kind === 2) on[event] = { target: `#${String(node['id'])}`, reenter: true }
    else on[event] = target()
  }
  if (Object.keys(on).length > 0) node['on'] = on
  if (below(6) === 0) node['after'] = { [String(1_000 * (1 + below(90)))]: target() }
  if (below(8) === 0) node['entry'] = ['prepare']
  if (below(8) === 0) node['tags'] = ['busy', 'visible']
  if (below(7) === 0) node['invoke'] = { id: `actor-${String(node['id'])}`, src: 'load', onDone: target() }
}
