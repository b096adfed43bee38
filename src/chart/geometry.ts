/** Points, boxes and lines of a picture, in px from its top left corner. */

/** A point, in px from the top left corner. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** A box by its top left corner and its size. */
export interface Box extends Point {
  readonly width: number
  readonly height: number
}

/** Do the insides of two boxes share more than half a px? */
export const boxesOverlap = (a: Box, b: Box): boolean =>
  a.x + 0.5 < b.x + b.width && b.x + 0.5 < a.x + a.width && a.y + 0.5 < b.y + b.height && b.y + 0.5 < a.y + a.height

/** Does a box lie in another one, its border included? */
export const contains = (outer: Box, inner: Box): boolean =>
  inner.x >= outer.x - 0.5 &&
  inner.y >= outer.y - 0.5 &&
  inner.x + inner.width <= outer.x + outer.width + 0.5 &&
  inner.y + inner.height <= outer.y + outer.height + 0.5

/** The smallest box around the straight line between two points. */
export const boxAround = (a: Point, b: Point): Box => ({
  x: Math.min(a.x, b.x),
  y: Math.min(a.y, b.y),
  width: Math.abs(a.x - b.x),
  height: Math.abs(a.y - b.y),
})

/** Does a horizontal or vertical line run through the inside of a box (and not only along its border)? */
export function lineEnters(a: Point, b: Point, box: Box): boolean {
  const line = boxAround(a, b)
  return (
    line.x + line.width > box.x + 0.5 &&
    line.x < box.x + box.width - 0.5 &&
    line.y + line.height > box.y + 0.5 &&
    line.y < box.y + box.height - 0.5
  )
}

/** Do two straight lines, each horizontal or vertical, cross in their insides? */
export function linesCross(a: readonly [Point, Point], b: readonly [Point, Point]): boolean {
  const aVertical = Math.abs(a[0].x - a[1].x) < 0.5
  const bVertical = Math.abs(b[0].x - b[1].x) < 0.5
  if (aVertical === bVertical) return false
  const [vertical, horizontal] = aVertical ? [boxAround(...a), boxAround(...b)] : [boxAround(...b), boxAround(...a)]
  return (
    vertical.x > horizontal.x + 0.5 &&
    vertical.x < horizontal.x + horizontal.width - 0.5 &&
    horizontal.y > vertical.y + 0.5 &&
    horizontal.y < vertical.y + vertical.height - 0.5
  )
}

/** The straight parts of a line through points. */
export const segments = (points: readonly Point[]): (readonly [Point, Point])[] =>
  points.slice(1).map((point, index) => [points[index] ?? point, point] as const)

const rounded = (value: number): number => Math.round(value * 10) / 10

export const roundedPoint = ({ x, y }: Point): Point => ({ x: rounded(x), y: rounded(y) })

export const roundedBox = ({ x, y, width, height }: Box): Box => ({
  x: rounded(x),
  y: rounded(y),
  width: rounded(width),
  height: rounded(height),
})
