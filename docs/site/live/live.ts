/** An order that lives in the page: its chart, buttons for the events that it takes, a crash, and its past. */
import { createClient, createRuntime, defineJob, memoryStore, type Client, type Runtime } from 'jobchart'
import { chartStyles, toSvg, type LayoutEngine } from 'jobchart/chart'
import { faultyStore, type FaultyStore } from 'jobchart/testing'
import layouts from './layouts.json'
import { orderMachine } from './order.machine.ts'

const order = defineJob({ type: 'order', machine: orderMachine, retry: { maxAttempts: 10 } })
const store = memoryStore()

/** Where the layout of the chart was computed before: without the engine the page is small. */
const engine: LayoutEngine = {
  layout: async (graph) => {
    const found = (layouts as Readonly<Record<string, object>>)[JSON.stringify(graph)]
    if (found === undefined) throw new Error('no layout was computed for this chart')
    return structuredClone(found)
  },
}

interface Moment {
  readonly value: string
  readonly at: number
}

/** A worker, and the connection that a crash cuts. */
interface Worker {
  readonly runtime: Runtime
  readonly connection: FaultyStore
  readonly number: number
}

export class LiveOrder {
  private readonly root: HTMLElement
  private readonly client: Client = createClient({ jobs: [order], store, logger: {} })
  private worker: Worker | null = null
  private workers = 0
  private id = ''
  private orders = 0
  private moments: Moment[] = []
  private shown: number | null = null
  private following: { unsubscribe(): void } | null = null

  constructor(root: HTMLElement) {
    this.root = root
  }

  async start(): Promise<void> {
    this.root.innerHTML = `
      <style>${chartStyles}</style>
      <div class="chart" role="img" tabindex="0" aria-label="The chart of the order"></div>
      <p class="says" role="status"></p>
      <p class="buttons"></p>
      <label class="past">Its past <input type="range" min="0" value="0" aria-label="A moment of its past"></label>
      <ol class="log"></ol>`
    this.part('input').addEventListener('input', (event) => {
      const at = Number((event.target as HTMLInputElement).value)
      this.shown = at === this.moments.length - 1 ? null : at
      void this.draw()
    })
    await this.startWorker()
    await this.placeOrder()
  }

  async end(): Promise<void> {
    this.following?.unsubscribe()
    await this.worker?.runtime.stop({ mode: 'abort' })
    await this.client.close()
  }

  private part(selector: string): HTMLElement {
    return this.root.querySelector(selector) as HTMLElement
  }

  private say(text: string): void {
    const line = document.createElement('li')
    line.textContent = `${new Date().toLocaleTimeString()} ${text}`
    this.part('.log').prepend(line)
    while (this.part('.log').children.length > 12) this.part('.log').lastElementChild?.remove()
  }

  private async startWorker(): Promise<void> {
    const number = ++this.workers
    const connection = faultyStore(store, { faults: {} })
    const runtime = createRuntime({ jobs: [order], store: connection, lease: '1s', grace: '100ms', logger: {} })
    runtime.events$.subscribe(({ event, attempt }) => {
      if (event === 'CLAIM') this.say(`worker ${number} claims the order, attempt ${attempt}`)
    })
    await runtime.start()
    this.worker = { runtime, connection, number }
    this.say(`worker ${number} has started`)
  }

  private async placeOrder(): Promise<void> {
    this.following?.unsubscribe()
    this.moments = []
    this.shown = null
    const job = await this.client.enqueue(order, undefined, { id: `order-${++this.orders}` })
    this.id = job.id
    this.following = job.snapshot$.subscribe(({ value }) => {
      if (value === undefined || this.moments.at(-1)?.value === value) return
      this.moments.push({ value, at: Date.now() })
      this.say(`the order is ${value}`)
      void this.draw()
    })
  }

  /** Its store does not hear from the worker any more: the lease runs out, and another worker goes on. */
  private async crash(): Promise<void> {
    const crashed = this.worker
    if (crashed === null) return
    this.worker = null
    crashed.connection.disturb({ every: { before: 1 } })
    this.say(`worker ${crashed.number} has crashed: its lease of 1 s runs out`)
    void crashed.runtime.stop({ mode: 'abort', timeout: '1s' }).catch(() => {})
    await this.draw()
    await this.startWorker()
    await this.draw()
  }

  private async draw(): Promise<void> {
    const at = this.shown ?? this.moments.length - 1
    const moment = this.moments[at]
    if (moment === undefined) return
    const slider = this.part('input') as HTMLInputElement
    slider.max = String(this.moments.length - 1)
    slider.value = String(at)
    this.part('.chart').innerHTML = await toSvg(orderMachine, { active: moment.value, direction: 'right', engine })
    const record = await (await this.client.job(this.id))?.record()
    const time = new Date(moment.at).toLocaleTimeString()
    this.part('.says').textContent =
      this.shown === null ? `${this.id} is ${record?.state ?? 'gone'}.` : `${this.id} as it was at ${time}.`
    this.buttons(this.shown === null ? moment.value : null)
  }

  private buttons(state: string | null): void {
    const events: Readonly<Record<string, readonly ('PAY' | 'CANCEL' | 'DELIVERED')[]>> = {
      awaitingPayment: ['PAY', 'CANCEL'],
      shipping: ['DELIVERED'],
    }
    const holder = this.part('.buttons')
    holder.replaceChildren()
    const add = (text: string, run: () => Promise<unknown>): void => {
      const button = document.createElement('button')
      button.textContent = text
      button.addEventListener('click', () => void run().catch((error: Error) => this.say(error.message)))
      holder.append(button)
    }
    for (const type of state === null ? [] : (events[state] ?? [])) add(type, () => this.client.send(this.id, { type }))
    if (this.worker !== null) add('Crash this worker', () => this.crash())
    if (state === 'delivered' || state === 'cancelled') add('Another order', () => this.placeOrder())
  }
}
