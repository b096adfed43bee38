/** The lines between the regions of parallel states. */
import { boxesOverlap, type Box, type Point } from './geometry.ts'
import type { PlacedEdge, PlacedLabel, PlacedState } from './layout-types.ts'

interface Separated {
  /** How each region is set off, by its id. */
  readonly regions: ReadonlyMap<string, 'separated' | 'boxed'>
  readonly separators: readonly (readonly [Point, Point])[]
}

/**
 * Finds a free line between each two regions that lie beside or below each other. Regions without one get a border, and
 * so do those at which an arrow ends: it would end in the open.
 */
export function separate(
  states: readonly PlacedState[],
  labels: readonly PlacedLabel[],
  edges: readonly PlacedEdge[],
): Separated {
  const ends = new Set(edges.flatMap(({ source, targets }) => [source, ...targets]))
  const regions = new Map<string, 'separated' | 'boxed'>()
  const separators: (readonly [Point, Point])[] = []
  for (const outer of states) {
    if (outer.state.type !== 'parallel') continue
    const inner = states.filter(({ state }) => state.parent === outer.state.id && state.type !== 'history')
    const obstacles = [
      ...states.filter(({ state }) => state.parent === outer.state.id).map(({ box }) => box),
      ...labels.filter(({ container }) => container === outer.state.id).map(({ box }) => box),
    ]
    const boxes = inner.map(({ box }) => box)
    const isEnd = inner.some(({ state }) => state.children.length > 0 && ends.has(state.id))
    const lines = isEnd ? null : (linesBeside(boxes, outer, obstacles) ?? linesBelow(boxes, outer, obstacles))
    for (const { state } of inner) regions.set(state.id, lines === null ? 'boxed' : 'separated')
    separators.push(...(lines ?? []))
  }
  return { regions, separators }
}

type Lines = (readonly [Point, Point])[] | null

const isFree = (line: Box, obstacles: readonly Box[]): boolean => obstacles.every((box) => !boxesOverlap(line, box))

function linesBeside(boxes: readonly Box[], { box: outer, content }: PlacedState, obstacles: readonly Box[]): Lines {
  const sorted = boxes.toSorted((a, b) => a.x - b.x)
  const lines: (readonly [Point, Point])[] = []
  for (const [index, box] of sorted.slice(1).entries()) {
    const before = sorted[index] ?? box
    const end = before.x + before.width
    const x = Math.round((end + box.x) / 2)
    const top = outer.y + Math.max(36, content.height) + 4
    if (!isFree({ x: x - 2, y: top, width: 4, height: outer.y + outer.height - top }, obstacles)) return null
    lines.push([
      { x, y: top },
      { x, y: outer.y + outer.height },
    ])
  }
  return lines
}

function linesBelow(boxes: readonly Box[], { box: outer }: PlacedState, obstacles: readonly Box[]): Lines {
  const sorted = boxes.toSorted((a, b) => a.y - b.y)
  const lines: (readonly [Point, Point])[] = []
  for (const [index, box] of sorted.slice(1).entries()) {
    const before = sorted[index] ?? box
    const end = before.y + before.height
    const y = Math.round((end + box.y) / 2)
    if (!isFree({ x: outer.x, y: y - 2, width: outer.width, height: 4 }, obstacles)) return null
    lines.push([
      { x: outer.x, y },
      { x: outer.x + outer.width, y },
    ])
  }
  return lines
}
