/** A storm: one by one, by chance, all that can be asked of processes and all that can befall them. */
import type { JobHandle } from 'jobchart'
import type { Output } from './floor.ts'
import type { Host } from './host.ts'
import type { Ending } from './judge.ts'
import type { Process } from './process.ts'
import type { World } from './world.ts'

const hourMs = 3_600_000
const conflicts = ['keep', 'replace', 'supersede', 'follow'] as const
const modes = ['drain', 'finish', 'abort'] as const

/** How often what is done. */
const weights = {
  enqueue: 45,
  many: 4,
  cancel: 12,
  retry: 4,
  pauseQueue: 3,
  resumeQueue: 6,
  pause: 2,
  resume: 4,
  resize: 2,
  freeze: 3,
  jump: 2,
  jumpStore: 2,
}

/** What can befall a fleet alone: an embedded store goes with its process. */
const fleetWeights = { ...weights, crash: 4, stop: 2, cutOff: 2, heal: 3 }

type Act = keyof typeof fleetWeights

export class Storm {
  /** Jobs of which somebody was told that they are stored. */
  readonly acknowledged = new Set<string>()
  /** What those who waited for results were told. */
  readonly endings: Ending[] = []
  private enqueued = 0
  private readonly world: World
  private readonly acts: Readonly<Record<Act, (process: Process) => void>>

  constructor(world: World) {
    this.world = world
    const { dice } = world
    const typeOf = ({ jobs }: Process): string => dice.pick(jobs).type
    this.acts = {
      enqueue: (process) => this.enqueue(process),
      many: (process) => world.call('many', process, this.many(process)),
      cancel: (process) => world.call('cancel', process, this.cancel(process)),
      retry: (process) => world.call('retry', process, process.runtime.retry(this.someId())),
      pauseQueue: (process) => world.call('pause queue', process, this.pauseQueue(process, typeOf(process))),
      resumeQueue: (process) => world.call('resume queue', process, process.runtime.queue(typeOf(process)).resume()),
      pause: (process) => process.state === 'up' && world.call('pause', process, process.runtime.pause()),
      resume: (process) => process.state === 'up' && world.call('resume', process, process.runtime.resume()),
      resize: (process) => process.resize(dice),
      freeze: ({ host }) => this.freeze(host),
      jump: ({ host }) => this.jump(host),
      jumpStore: () => this.jump(world.storeHost),
      crash: (process) => {
        world.count('crash')
        process.crash()
      },
      stop: (process) => this.stop(process),
      cutOff: ({ wire }) => {
        world.count('cut off')
        wire.road?.disturb({ every: dice.pick([{ before: 1 }, { late: 1, lateBy: '8s' }]) })
      },
      heal: ({ wire }) => wire.road?.disturb({ every: world.plan.faults, close: {} }),
    }
  }

  act(): void {
    const { world } = this
    const { dice, plan } = world
    if (world.living.length < plan.size && dice.chance(0.1)) world.start()
    const ready = world.living.filter(({ answers }) => answers)
    if (ready.length === 0) return
    const act: Act = dice.weighted(plan.fleet ? fleetWeights : weights)
    const process = dice.pick(ready)
    world.ledger.say(`${process.host.name} ${act}`)
    this.acts[act](process)
  }

  private enqueue(process: Process): void {
    const { world } = this
    const { dice } = world
    const n = this.enqueued++
    const options = {
      id: `j.${n}`,
      priority: dice.below(3),
      ...(dice.chance(0.3) && { delay: dice.below(5_000) }),
      ...(dice.chance(0.3) && {
        unique: {
          key: dice.pick(['a', 'b']),
          onConflict: dice.pick(conflicts),
          until: n % 3 === 0 ? ('start' as const) : ('end' as const),
        },
      }),
    }
    const follow = dice.chance(0.2)
    const enqueued = process.runtime.enqueue(dice.pick(process.jobs), n, options).then((handle) => {
      this.acknowledged.add(handle.id)
      if (follow) world.call('result', process, this.follow(handle))
    })
    world.call('enqueue', process, enqueued)
  }

  private async follow(handle: JobHandle<Output>): Promise<void> {
    const told = (state: Ending['state'], output: Output | null): void => {
      const { id } = handle
      this.endings.push({ id, state, output, retried: this.world.ledger.retried(id) })
    }
    try {
      told('done', await handle.result())
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'DEAD') told('dead', null)
      else if (code === 'CANCELLED') told('cancelled', null)
      else throw error
    }
  }

  private async many({ runtime, jobs }: Process): Promise<void> {
    for (const { id } of await runtime.enqueueMany(this.world.dice.pick(jobs), [1, 2, 3])) this.acknowledged.add(id)
  }

  private async pauseQueue({ runtime, pauses }: Process, type: string): Promise<void> {
    await runtime.queue(type).pause()
    const pause = this.world.ledger.pauseOf(type)
    // It may have been resumed before this was answered.
    if (pause !== null) pauses.set(type, pause)
  }

  private async cancel({ runtime, worker, jobs }: Process): Promise<void> {
    const { dice, floor } = this.world
    const choice = dice.chance(0.1) ? { type: dice.pick(jobs).type } : this.someId()
    const asked = floor.askCancel()
    const { cancelled, cancelling } = await runtime.cancel(choice)
    floor.acknowledgeCancel(worker, asked, [...cancelled, ...cancelling])
  }

  /** One that is on its way to a handler, or one of the latest: they still live. */
  private someId(): string {
    const { dice, ledger } = this.world
    const { handedOut } = ledger
    if (handedOut.length > 0 && dice.chance(0.5)) return dice.pick(handedOut)
    return `j.${Math.max(0, this.enqueued - dice.below(20))}`
  }

  private stop(process: Process): void {
    const { world } = this
    const mode = world.dice.pick(modes)
    const timeout = 500 + world.dice.below(8_000)
    const askedAt = world.clock.monotonic()
    process.state = 'stopping'
    const stopped = process.runtime.stop({ mode, timeout })
    stopped.catch((error: unknown) => world.breaks(`a stop failed: ${String(error)}`))
    const looked = stopped.then(({ running }) => {
      process.state = 'stopped'
      const { pending, awakeMs } = process.host
      if (process.wire.listening > 0) world.breaks('a runtime that has stopped still listens to its store')
      const tookMs = world.clock.monotonic() - askedAt
      if (tookMs > timeout + 2_000 && awakeMs > tookMs)
        world.breaks(`a stop took ${tookMs} ms, ${timeout} were allowed`)
      if (running === 0 && pending > 0) world.breaks(`${pending} timers are left of a runtime that has stopped`)
    })
    world.call(`stop ${mode}`, process, looked)
  }

  private freeze(host: Host): void {
    const { dice, clock, plan } = this.world
    this.world.count(plan.sleepy ? 'sleep' : 'freeze')
    if (plan.sleepy) host.fallAsleep()
    else host.freeze()
    clock.timer(() => host.thaw(), 100 + dice.below(12_000), { keepAlive: true })
  }

  private jump(host: Host): void {
    const { dice, ledger, plan, storeHost } = this.world
    if (host === storeHost ? plan.steady || (plan.sleepy && !plan.fleet) : plan.sleepy) return
    host.jump(dice.pick([-hourMs, hourMs]))
    if (host === storeHost) ledger.shake()
    this.world.count(host === storeHost ? 'jump of the store' : 'jump')
  }
}
