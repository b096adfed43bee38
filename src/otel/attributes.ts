/**
 * Names of attributes and metrics. Those of `messaging.*` and `error.type` are of OpenTelemetry's semantic conventions
 * for messaging, which are in development: they are written here, because the package of conventions names only those
 * of its own version. Those of `jobchart.*` are our own.
 */
import type { Attributes } from '@opentelemetry/api'
import type { ErrorRecord } from '../core/failure.ts'

export const attribute = {
  system: 'messaging.system',
  destination: 'messaging.destination.name',
  operation: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  messageId: 'messaging.message.id',
  batchSize: 'messaging.batch.message_count',
  errorType: 'error.type',
  from: 'jobchart.enqueue.from',
  inserted: 'jobchart.enqueue.inserted',
  found: 'jobchart.enqueue.found',
  attempt: 'jobchart.attempt',
  generation: 'jobchart.generation',
  outcome: 'jobchart.outcome',
  state: 'jobchart.state',
  step: 'jobchart.step',
  actor: 'jobchart.actor',
  checkpoint: 'jobchart.checkpoint',
} as const

export const metric = {
  sent: 'messaging.client.sent.messages',
  sendDuration: 'messaging.client.operation.duration',
  consumed: 'messaging.client.consumed.messages',
  processDuration: 'messaging.process.duration',
  queueTime: 'jobchart.queue.time',
  depth: 'jobchart.queue.depth',
  age: 'jobchart.queue.age',
  retries: 'jobchart.retries',
  deaths: 'jobchart.deaths',
  lostLeases: 'jobchart.leases.lost',
} as const

/** What all spans and metrics of a type have: made once, because each job needs them. */
interface TypeAttributes {
  readonly send: Attributes
  readonly create: Attributes
  readonly claim: Attributes
  readonly process: Attributes
}

/** Types whose attributes are kept. A client may enqueue by any name. */
const typesMax = 10_000

export class AttributesByType {
  private readonly known = new Map<string, TypeAttributes>()

  of(type: string): TypeAttributes {
    const known = this.known.get(type)
    if (known !== undefined) return known
    const made = {
      send: operationOn(type, 'send'),
      create: operationOn(type, 'create'),
      claim: operationOn(type, 'claim', 'receive'),
      process: operationOn(type, 'process'),
    }
    if (this.known.size >= typesMax) this.known.clear()
    this.known.set(type, made)
    return made
  }
}

const operationOn = (type: string, operation: string, operationType = operation): Attributes => ({
  [attribute.system]: 'jobchart',
  [attribute.destination]: type,
  [attribute.operation]: operation,
  [attribute.operationType]: operationType,
})

export const errorType = ({ code, name }: Pick<ErrorRecord, 'code' | 'name'>): string => code ?? name
