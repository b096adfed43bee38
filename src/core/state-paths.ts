/** The states that a machine stands in, by their paths. */

/** Those of a value, the outer ones first: `{ paid: 'shipping' }` → `['paid', 'paid.shipping']`. */
export function statesIn(value: unknown, around: readonly string[] = []): string[] {
  if (typeof value === 'string') return [[...around, value].join('.')]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = [...around, key]
    return [path.join('.'), ...statesIn(inner, path)]
  })
}

/** Those that hold no other one: `['paid', 'paid.shipping']` → `['paid.shipping']`. */
export const innermost = (states: readonly string[]): string[] =>
  states.filter((state) => !states.some((other) => other.startsWith(`${state}.`)))
