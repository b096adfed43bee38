/** Measures a layout by itself: what lies over what. It shares no code with the layout. */
import type { Box, ChartLayout, Point } from 'jobchart/chart'

const overlap = (a: Box, b: Box): boolean =>
  Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) > 0.5 &&
  Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y) > 0.5

const within = (inner: Box, outer: Box): boolean =>
  inner.x > outer.x - 0.5 &&
  inner.y > outer.y - 0.5 &&
  inner.x + inner.width < outer.x + outer.width + 0.5 &&
  inner.y + inner.height < outer.y + outer.height + 0.5

/** The part of a line in a box, shrunk by half a px so that a line may touch its border. */
function enters(a: Point, b: Point, box: Box): boolean {
  const line = { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) }
  const inner = { x: box.x + 0.6, y: box.y + 0.6, width: box.width - 1.2, height: box.height - 1.2 }
  return (
    line.x < inner.x + inner.width &&
    line.x + line.width > inner.x &&
    line.y < inner.y + inner.height &&
    line.y + line.height > inner.y
  )
}

/** Everything that is drawn over something else, in words; none if the picture is clean. */
export function overlapsOf({ states, labels, edges, dots, graph, width, height }: ChartLayout): string[] {
  const found: string[] = []
  const parents = new Map(graph.states.map(({ id, parent }) => [id, parent]))
  const line = (id: string | null): string[] => (id === null ? [] : [id, ...line(parents.get(id) ?? null)])
  const name = (label: (typeof labels)[number]): string =>
    `label ${label.transitions.map(({ label: text }) => text).join()}`
  const texts = states.map(({ state, box, content, shift }) => ({
    id: state.id,
    // A state with states in it is text at the top, and room for the others below.
    box:
      state.children.length === 0
        ? box
        : { x: box.x + shift + 10, y: box.y + 4, width: content.width - 20, height: content.height - 4 },
  }))
  for (const [index, label] of labels.entries()) {
    for (const other of labels.slice(index + 1))
      if (overlap(label.box, other.box)) found.push(`${name(label)} over ${name(other)}`)
    const around = line(label.container)
    for (const { state, box } of states) {
      if (!around.includes(state.id) && overlap(label.box, box)) found.push(`${name(label)} over ${state.id}`)
      if (around.includes(state.id) && !within(label.box, box)) found.push(`${name(label)} leaves ${state.id}`)
    }
    for (const { id, box } of texts) if (overlap(label.box, box)) found.push(`${name(label)} over the text of ${id}`)
  }
  for (const [index, a] of states.entries()) {
    for (const b of states.slice(index + 1)) {
      if (line(b.state.id).includes(a.state.id)) {
        if (!within(b.box, a.box)) found.push(`${b.state.id} leaves ${a.state.id}`)
      } else if (overlap(a.box, b.box)) found.push(`${a.state.id} over ${b.state.id}`)
    }
    for (const { id, box } of texts) {
      if (line(a.state.id).includes(id) && id !== a.state.id && overlap(a.box, box))
        found.push(`${a.state.id} over the text of ${id}`)
    }
    if (!within(a.box, { x: 0, y: 0, width, height })) found.push(`${a.state.id} leaves the picture`)
  }
  for (const { points, source, targets, isHead, arrow } of edges) {
    const own = new Set([source, ...targets].flatMap(line))
    const edge = `${source ?? 'dot'} > ${targets.join()}`
    for (const [index, b] of points.slice(1).entries()) {
      const a = points[index]!
      if (Math.abs(a.x - b.x) > 0.5 && Math.abs(a.y - b.y) > 0.5) found.push(`${edge} is slanting`)
      for (const label of labels) if (enters(a, b, label.box)) found.push(`${edge} through ${name(label)}`)
      for (const { state, box } of states) {
        const isForeign = !own.has(state.id) || state.children.length === 0
        if (isForeign && enters(a, b, box)) found.push(`${edge} through ${state.id}`)
      }
      for (const { id, box } of texts) if (enters(a, b, box)) found.push(`${edge} through the text of ${id}`)
      for (const dot of dots) {
        const box = { x: dot.x - dot.radius, y: dot.y - dot.radius, width: 2 * dot.radius, height: 2 * dot.radius }
        if (enters(a, b, box)) found.push(`${edge} through a dot`)
      }
    }
    found.push(...looseEnds(points, source, targets, isHead, arrow, { states, labels }).map((end) => `${edge} ${end}`))
  }
  return found
}

/** An edge begins and ends on a border. */
function looseEnds(
  points: readonly Point[],
  source: string | null,
  targets: readonly string[],
  isHead: boolean,
  arrow: string | null,
  { states, labels }: Pick<ChartLayout, 'states' | 'labels'>,
): string[] {
  const touches = ({ x, y }: Point, { box }: { box: Box }): boolean => {
    const onX = x > box.x - 1 && x < box.x + box.width + 1
    const onY = y > box.y - 1 && y < box.y + box.height + 1
    const onBorder =
      Math.min(
        Math.abs(x - box.x),
        Math.abs(x - box.x - box.width),
        Math.abs(y - box.y),
        Math.abs(y - box.y - box.height),
      ) < 1
    return onX && onY && onBorder
  }
  const own = labels.filter(({ id }) => id === arrow)
  const boxesOf = (ids: readonly (string | null)[]): { box: Box }[] =>
    states.filter(({ state }) => ids.includes(state.id))
  const starts = isHead && own.length > 0 ? [...own, ...boxesOf([source])] : boxesOf([source])
  const ends = isHead ? boxesOf(targets) : own
  const [first, last] = [points[0]!, points.at(-1)!]
  return [
    ...(source !== null && !starts.some((box) => touches(first, box)) ? ['begins nowhere'] : []),
    ...(!ends.some((box) => touches(last, box)) ? ['ends nowhere'] : []),
  ]
}
