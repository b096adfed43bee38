/**
 * Charts by chance: states in one another, regions, history, eventless steps, timers, raised and delayed events,
 * children, promises. The seed makes the chart, its events and its time.
 *
 * What could run in circles costs fuel, which is counted in the context, so that each chart comes to rest.
 */
import { assign, cancel, emit, enqueueActions, sendParent, sendTo, stopChild } from 'xstate'
import { seededRandom } from 'jobchart/testing'
import type { Config, Workshop } from './chart.ts'
import { liveTwice, type Case, type Step, type TwiceReport } from './lives-twice.ts'

interface Node {
  readonly id: string
  readonly type?: 'parallel' | 'final' | 'history'
  readonly history?: 'deep' | 'shallow'
  readonly initial?: string
  readonly states?: Readonly<Record<string, Node>>
  entry?: unknown[]
  exit?: unknown[]
  on?: Record<string, unknown>
  always?: unknown[]
  after?: Record<number, unknown>
  invoke?: unknown
  onDone?: unknown
}

const fuel = 20
const events = ['A', 'B', 'C', 'D'] as const
/**
 * So that their sums seldom meet each other or the end of a step: steps end at 15 s and multiples of 30 s after that.
 */
const delays = [11_000, 41_000, 71_000] as const
const depthMax = 3

const burn = assign({ n: ({ context }) => (context['n'] as number) + 1 })
const hasFuel = ({ context }: { readonly context: Record<string, unknown> }): boolean => (context['n'] as number) < fuel

const fuelOf = ({ context }: { readonly context: Record<string, unknown> }): object => ({ n: context['n'] })

class ChartMaker {
  private readonly random: () => number
  private readonly prefix: string
  private readonly isChild: boolean
  private readonly nodes: Node[] = []

  constructor(random: () => number, prefix: string) {
    this.random = random
    this.prefix = prefix
    this.isChild = prefix !== ''
  }

  make(): Config {
    const root = this.node(0, this.isChild ? 'compound' : undefined)
    for (const node of this.nodes) if (node.type !== 'history') this.fill(node)
    return {
      ...root,
      options: { maxIterations: 1_000 },
      context: ({ input }: { input?: { n: number } }) => ({ n: input?.n ?? 0 }),
      output: ({ context }: { context: Record<string, unknown> }) => context['n'],
    } as Config
  }

  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  private chance(probability: number): boolean {
    return this.random() < probability
  }

  private pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T
  }

  private node(depth: number, wanted?: 'compound'): Node {
    const id = `${this.prefix}s${this.nodes.length}`
    const kind = wanted ?? (depth === 0 ? this.pick(['compound', 'compound', 'parallel']) : this.inner(depth))
    const node = { id } as Node & { type?: string }
    this.nodes.push(node)
    if (kind === 'final') return Object.assign(node, { type: 'final' as const })
    if (kind === 'atomic') return node
    const children = Array.from({ length: 2 + this.below(2) }, () => this.node(depth + 1))
    // Not the first: a machine would be done before it has begun.
    if (children[0]?.type === 'final') delete (children[0] as { type?: string }).type
    const states = Object.fromEntries(children.map((child) => [child.id, child]))
    if (kind === 'parallel') return Object.assign(node, { type: 'parallel' as const, states })
    if (this.chance(0.3)) {
      const past: Node = { id: `${id}h`, type: 'history', history: this.pick(['deep', 'shallow']) }
      this.nodes.push(past)
      states[past.id] = past
    }
    return Object.assign(node, { initial: (children[0] as Node).id, states })
  }

  private inner(depth: number): string {
    if (depth >= depthMax || this.isChild) return this.chance(0.12) ? 'final' : 'atomic'
    return this.pick(['atomic', 'atomic', 'atomic', 'compound', 'compound', 'parallel', 'final'])
  }

  /** Gives a state what it does. */
  private fill(node: Node): void {
    if (this.chance(0.5)) node.entry = [`in-${node.id}`, ...this.some(0.3)]
    if (node.type === 'final') return
    if (this.chance(0.4)) node.exit = [`out-${node.id}`, ...this.some(0.15)]
    if (node.states !== undefined && this.chance(0.5)) node.onDone = this.limited(node, 'done')
    node.on = Object.fromEntries(
      events.filter(() => this.chance(0.45)).map((event) => [event, this.candidates(node, event)]),
    )
    if (this.chance(0.1)) node.on['*'] = { actions: `any-${node.id}` }
    if (this.chance(0.2)) node.always = [this.eventless()]
    if (this.chance(0.3)) node.after = { [this.pick(delays)]: this.transition(node, 'late') }
    if (!this.isChild && this.chance(0.3)) this.invoke(node)
  }

  private invoke(node: Node): void {
    const id = `k-${node.id}`
    // A child has what fuel its parent has left: it may lead its parent to begin another one.
    ;(node.entry ??= []).push(burn)
    if (this.chance(0.5)) {
      node.invoke = {
        id,
        src: this.pick(['work', 'fail']),
        onDone: this.limited(node, 'worked'),
        onError: this.limited(node, 'failed'),
      }
      return
    }
    node.invoke = { id, src: 'kid', input: fuelOf, onDone: this.limited(node, 'kid-done') }
    const told = sendTo(id, { type: this.pick(events) }, this.chance(0.3) ? { delay: this.pick(delays) } : {})
    if (this.chance(0.6)) (node.on ??= {})[this.pick(events)] = { actions: [`tell-${node.id}`, told] }
    if (this.chance(0.3)) (node.exit ??= []).push(sendTo(id, { type: this.pick(events) }))
  }

  private candidates(node: Node, event: string): unknown {
    const rest = this.pick([2, 3])
    const guard = ({ context }: { readonly context: Record<string, unknown> }): boolean =>
      (context['n'] as number) % rest === 0
    return this.chance(0.25)
      ? [{ ...this.transition(node, `${event}-0`), guard }, this.transition(node, `${event}-1`)]
      : this.transition(node, event)
  }

  private transition(node: Node, name: string): { target?: string; reenter?: boolean; actions: unknown[] } {
    const actions = [`${name}-${node.id}`, ...this.some(0.4)]
    if (this.chance(0.25)) return { actions }
    return { target: this.target(), actions, ...(this.chance(0.2) && { reenter: true }) }
  }

  /** A transition that leads nowhere when there is no fuel. */
  private limited(node: Node, name: string): unknown[] {
    const { actions, ...transition } = this.transition(node, name)
    return [{ ...transition, guard: hasFuel, actions: [burn, ...actions] }, { actions: `${name}-${node.id}-empty` }]
  }

  private eventless(): unknown {
    const rest = this.below(3)
    return {
      guard: (from: { readonly context: Record<string, unknown> }) =>
        hasFuel(from) && (from.context['n'] as number) % 3 === rest,
      actions: [burn, 'step'],
      ...(this.chance(0.7) && { target: this.target() }),
    }
  }

  private target(): string {
    return `#${this.pick(this.nodes.slice(1)).id}`
  }

  private some(probability: number): unknown[] {
    const actions: unknown[] = []
    while (actions.length < 3 && this.chance(probability)) actions.push(this.action())
    return actions
  }

  private action(): unknown {
    const type = this.pick(events)
    const delay = this.pick(delays)
    const id = this.pick(['t1', 't2'])
    const all = [
      () => burn,
      () => ({ type: 'with', params: ({ context }: { context: Record<string, unknown> }) => ({ n: context['n'] }) }),
      () => this.fuelled((enqueue) => enqueue.raise({ type })),
      () => this.fuelled((enqueue) => (enqueue.cancel(id), enqueue.raise({ type }, { delay, id }))),
      () => this.fuelled((enqueue) => enqueue.raise({ type }, { delay })),
      () => cancel(id),
      () => this.fuelled((enqueue, self) => enqueue.sendTo(self, { type })),
    ]
    const ofChild = [() => this.fuelled((enqueue) => enqueue(sendParent({ type }) as never))]
    const ofRoot = [
      () => emit({ type: 'out', of: type }),
      () =>
        this.fuelled((enqueue) => (enqueue.stopChild('kid'), enqueue.spawnChild('kid', { id: 'kid', input: fuelOf }))),
      () => stopChild('kid'),
    ]
    return this.pick([...all, ...(this.isChild ? ofChild : ofRoot)])()
  }

  private fuelled(act: (enqueue: Enqueue, self: never) => void): unknown {
    return enqueueActions(({ context, enqueue, self }) => {
      if ((context['n'] as number) >= fuel) return
      enqueue(burn as never)
      act(enqueue as never, self as never)
    })
  }
}

interface Enqueue {
  (action: never): void
  raise(event: { type: string }, options?: { delay: number; id?: string }): void
  sendTo(target: never, event: { type: string }): void
  spawnChild(src: string, options: { id: string; input: typeof fuelOf }): void
  stopChild(id: string): void
  cancel(id: string): void
}

/** So long that promises that follow from each other have settled. */
const patienceMs = 2_500

/**
 * The case of a seed. Those of even seeds wait after each event until its promises have settled, so that a kill, which
 * makes them later, changes nothing else; those of odd seeds do not, and are not for killing.
 */
export function randomCase(seed: number): Case {
  const random = seededRandom(seed)
  const parent = new ChartMaker(random, '')
  const chart = parent.make()
  const child = new ChartMaker(random, 'k').make()
  const step = (): Step => {
    const one = () => ({ type: events[parent.below(events.length)] as string })
    const kind = parent.below(8)
    if (kind < 3) return 30_000 * (1 + parent.below(3))
    return kind === 3 ? [one(), one(), one()] : one()
  }
  return {
    name: `seed ${seed}`,
    chart,
    with: (make: Workshop) => ({
      actors: {
        kid: make.machine(child),
        work: make.promise('', 100, () => 'worked'),
        fail: make.promise('', 100, () => {
          throw new Error('failed')
        }),
      },
    }),
    steps: [
      15_000,
      ...Array.from({ length: 6 + parent.below(5) }, step).flatMap((each) =>
        typeof each === 'number' || seed % 2 === 1 ? [each] : [each, patienceMs],
      ),
    ],
  }
}

export interface ChartsOptions {
  readonly firstSeed: number
  /** How many seeds. */
  readonly charts: number
  /** At how many of its writes each chart is killed; Infinity: at all. */
  readonly killsEach: number
}

export interface ChartsReport {
  /** How many charts were compared: the others are special. */
  readonly lived: number
  /** What was not the same, with its seed. */
  readonly failures: readonly string[]
}

/** Lives the charts of so many seeds twice. */
export async function liveChartsTwice({ firstSeed, charts, killsEach }: ChartsOptions): Promise<ChartsReport> {
  let lived = 0
  const failures: string[] = []
  for (let seed = firstSeed; seed < firstSeed + charts; seed++) {
    const killAt = (write: number, writes: number): boolean =>
      seed % 2 === 0 && (seed + write) % Math.max(1, Math.floor(writes / killsEach)) === 0
    const report = await liveTwice(randomCase(seed), { killAt, skipSpecial: true })
    if (report === null) continue
    lived++
    failures.push(...problemsOf(report).map((what) => `seed ${seed}: ${what}`))
  }
  return { lived, failures }
}

function problemsOf({ actor, job, killProblems }: TwiceReport): string[] {
  const at = job.findIndex((line, i) => line !== actor[i])
  if (at === -1 && job.length === actor.length) return [...killProblems]
  const from = at === -1 ? Math.min(job.length, actor.length) : at
  return [`line ${from} is ${job[from] ?? 'missing'}, and ${actor[from] ?? 'missing'} of the actor`, ...killProblems]
}
