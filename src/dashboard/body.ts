/** Reads the JSON body of a request, up to a limit. */
import { JobchartError } from '../core/errors.ts'
import type { Peer } from './access.ts'
import { RefusedError } from './refused-error.ts'
import { withinTime } from './within-time.ts'

/** Maximum size of a body, bytes. */
const bodyBytesMax = 262_144
/** How long it may take to come, ms: less than an answer, so that the client is told, and not the store suspected. */
const bodyMsMax = 20_000

export type JsonObject = Readonly<Record<string, unknown>>

const invalid = (message: string, hint: string): JobchartError => new JobchartError('INVALID_INPUT', message, { hint })

const late = (): RefusedError => new RefusedError(408, 'BODY_TIMEOUT', `The body did not come within ${bodyMsMax} ms.`)

/** @throws JobchartError INVALID_INPUT; RefusedError BODY_TIMEOUT */
export async function readBody(request: Request, peer: Peer): Promise<JsonObject> {
  if (isObject(peer.body)) return peer.body
  const text = await withinTime(readText(request), bodyMsMax, late)
  if (text === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new JobchartError('INVALID_INPUT', 'the body is not JSON', { hint: 'Send an object.', cause })
  }
  if (!isObject(value)) throw invalid('the body is no object', 'Send an object.')
  return value
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)

async function readText(request: Request): Promise<string> {
  if (request.body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > bodyBytesMax) throw invalid(`the body has more than ${bodyBytesMax} bytes`, 'Act on a filter instead.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
