/**
 * Takes small steps out of lines: where a line leaves a box a few px beside the way it goes on, it leaves at that place
 * instead, if there is room on the border and nothing is in the way.
 */
import { boxAround, lineEnters, linesCross, segments, type Box, type Point } from './geometry.ts'
import type { PlacedEdge, PlacedLabel, PlacedState } from './layout-types.ts'

/** The longest step that is taken out, in px. */
const stepMax = 24
/** The least distance in px between two lines beside each other. */
const apart = 7
/** The part of a border at a corner at which no line ends, in px. */
const corner = 10
const edgesMax = 400
const rounds = 3

type Line = readonly Point[]

export function straighten(
  edges: readonly PlacedEdge[],
  states: readonly PlacedState[],
  labels: readonly PlacedLabel[],
): PlacedEdge[] {
  const current = [...edges]
  if (edges.length > edgesMax) return current
  const boxes = [...states.map(({ box }) => box), ...labels.map(({ box }) => box)]
  for (let round = 0; round < rounds; round += 1) {
    let changed = false
    for (const [index, edge] of current.entries()) {
      const others = current.filter((other) => other !== edge).map(({ points }) => points)
      const better = withoutStep(edge, others, boxes, { states, labels })
      if (better === null) continue
      current[index] = { ...edge, points: better }
      changed = true
    }
    if (!changed) break
  }
  return current
}

interface Places {
  readonly states: readonly PlacedState[]
  readonly labels: readonly PlacedLabel[]
}

/** The line of an edge with one step less, or null if none can be taken out. */
function withoutStep(edge: PlacedEdge, others: readonly Line[], boxes: readonly Box[], places: Places): Line | null {
  const { points } = edge
  const tries = [fromStart(points), fromStart(points.toReversed())?.toReversed() ?? null]
  for (const [index, line] of tries.entries()) {
    const end = index === 0 ? line?.[0] : line?.at(-1)
    const before = index === 0 ? points[0] : points.at(-1)
    if (line === null || end === undefined || before === undefined) continue
    const box = boxAt(edge, before, places)
    if (box === null || !isOnBorder(end, before, box)) continue
    if (isClear(points, line, others, boxes)) return line
  }
  return null
}

/**
 * The line with its first part moved onto the third, if the second is a small step between them; null if it has no such
 * step.
 */
function fromStart(points: Line): Line | null {
  const [a, b, c, d, ...rest] = points
  if (a === undefined || b === undefined || c === undefined || d === undefined) return null
  const step = Math.hypot(c.x - b.x, c.y - b.y)
  const isSameWay = (b.x - a.x) * (d.x - c.x) + (b.y - a.y) * (d.y - c.y) > 0
  const isSquare = Math.abs((b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y)) < 0.01
  if (step > stepMax || !isSameWay || !isSquare) return null
  return [{ x: a.x + c.x - b.x, y: a.y + c.y - b.y }, d, ...rest]
}

/** The box at whose border a line ends; null if it is a dot or a circle. */
function boxAt({ arrow, source, targets }: PlacedEdge, point: Point, { states, labels }: Places): Box | null {
  const touches = ({ x, y, width, height }: Box): boolean =>
    point.x >= x - 1 &&
    point.x <= x + width + 1 &&
    point.y >= y - 1 &&
    point.y <= y + height + 1 &&
    Math.min(
      Math.abs(point.x - x),
      Math.abs(point.x - x - width),
      Math.abs(point.y - y),
      Math.abs(point.y - y - height),
    ) < 1
  const label = labels.find(({ id, box }) => id === arrow && touches(box))
  if (label !== undefined) return label.box
  const own = new Set([source, ...targets])
  const state = states.find(({ state: { id, type }, box }) => type !== 'history' && own.has(id) && touches(box))
  return state?.box ?? null
}

/** Is a moved end still on the straight part of the border it was on? */
function isOnBorder(end: Point, before: Point, { x, y, width, height }: Box): boolean {
  return Math.abs(end.y - before.y) < 0.1
    ? end.x >= x + corner && end.x <= x + width - corner
    : end.y >= y + corner && end.y <= y + height - corner
}

/** Does the new line enter no box, cross no line and run along none that the old one did not? */
function isClear(old: Line, line: Line, others: readonly Line[], boxes: readonly Box[]): boolean {
  const enters = (points: Line, box: Box): boolean => segments(points).some(([a, b]) => lineEnters(a, b, box))
  if (boxes.some((box) => enters(line, box) && !enters(old, box))) return false
  const crossings = (points: Line): number =>
    others.reduce(
      (sum, other) => sum + segments(points).filter((a) => segments(other).some((b) => linesCross(a, b))).length,
      0,
    )
  if (crossings(line) > crossings(old)) return false
  return others.every((other) => segments(other).every((b) => segments(line).every((a) => !runAlong(a, b))))
}

/** Do two parallel lines run beside each other with too little between them? */
function runAlong(a: readonly [Point, Point], b: readonly [Point, Point]): boolean {
  const [one, two] = [boxAround(...a), boxAround(...b)]
  const gapX = Math.max(one.x, two.x) - Math.min(one.x + one.width, two.x + two.width)
  const gapY = Math.max(one.y, two.y) - Math.min(one.y + one.height, two.y + two.height)
  const areUpright = one.width < 0.5 && two.width < 0.5
  const areLevel = one.height < 0.5 && two.height < 0.5
  return (areUpright && gapX < apart && gapY < 0) || (areLevel && gapY < apart && gapX < 0)
}
