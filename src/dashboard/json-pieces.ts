/**
 * JSON in pieces: the text of a value of megabytes takes longer to make than the jobs of this process may be held up.
 */
import { headersOf } from './answers.ts'
import { nextTurn } from './in-turns.ts'

/** Characters of a piece; a piece takes less than a ms. */
const pieceMax = 65_536

/** An answer in JSON that is written a piece in each turn of the event loop. */
export function largeJson(value: object): Response {
  const pieces = jsonPieces(value)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await nextTurn()
        const { value: piece, done } = pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(encoder.encode(piece))
      },
    },
    { highWaterMark: 1 },
  )
  return new Response(body, { headers: headersOf('application/json; charset=utf-8') })
}

/** The text that JSON.stringify gives for strict JSON, in which members may be undefined. */
function* jsonPieces(value: unknown): Generator<string> {
  let text = ''
  for (const part of parts(value)) {
    text += part
    if (text.length < pieceMax) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

function* parts(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > pieceMax) return yield* partsOfText(value)
  if (typeof value !== 'object' || value === null) return yield JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    yield '['
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ','
      yield* parts(item)
    }
    return yield ']'
  }
  let sign = '{'
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    yield `${sign}${JSON.stringify(key)}:`
    sign = ','
    yield* parts(member)
  }
  yield sign === '{' ? '{}' : '}'
}

function* partsOfText(text: string): Generator<string> {
  yield '"'
  for (let at = 0; at < text.length; at += pieceMax) {
    // Half a character at the end of a slice is written as an escape: the text means the same.
    yield JSON.stringify(text.slice(at, at + pieceMax)).slice(1, -1)
  }
  yield '"'
}
