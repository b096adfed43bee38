/** Where the text of a state with states in it stands: at the left, or further right where no line runs through it. */
import { boxAround, segments, type Box } from './geometry.ts'
import type { PlacedEdge, PlacedState } from './layout-types.ts'

/** The least distance in px between a line and the text beside it. */
const clearance = 6

/** The state with its text moved to the first free place; as it is if there is none. */
export function placeHeading(placed: PlacedState, edges: readonly PlacedEdge[]): PlacedState {
  const { box, content, state } = placed
  if (state.children.length === 0) return placed
  const taken = takenSpans({ ...box, height: content.height }, edges)
  const end = box.x + box.width
  // The content keeps a margin of 12 px on both sides.
  const width = content.width - 24
  let left = box.x + 12
  for (const [from, to] of taken) {
    if (left + width + clearance <= from) break
    left = Math.max(left, to + clearance)
  }
  if (left === box.x + 12 || left + width + 8 > end) return placed
  return { ...placed, shift: Math.round(left - box.x - 12) }
}

/** The parts of the width that lines take at the height of the text, from left to right. */
function takenSpans(strip: Box, edges: readonly PlacedEdge[]): (readonly [number, number])[] {
  const spans: (readonly [number, number])[] = []
  for (const { points } of edges) {
    for (const [a, b] of segments(points)) {
      const line = boxAround(a, b)
      const isBeside = line.x > strip.x + strip.width || line.x + line.width < strip.x
      const isBelow = line.y >= strip.y + strip.height || line.y + line.height <= strip.y
      if (!isBeside && !isBelow) spans.push([line.x, line.x + line.width])
    }
  }
  return spans.toSorted((a, b) => a[0] - b[0])
}

/** The part of a state's box in which text stands: all of it, unless there are states in it. */
export function textBox({ state, box, content, shift }: PlacedState): Box {
  if (state.children.length === 0) return box
  // Without the margins, in which a line may run.
  return { x: box.x + shift + 8, y: box.y, width: content.width - 16, height: content.height }
}
