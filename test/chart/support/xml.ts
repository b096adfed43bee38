/** A strict reader of XML, enough to say that a picture is well-formed and to find what is in it. */

export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Element[]
  text: string
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

function decode(text: string): string {
  if (text.includes('<')) throw new SyntaxError(`< in ${text}`)
  return text.replace(/&([^;]*);?/g, (whole, name: string) => {
    const character = entities[name]
    if (character === undefined || !whole.endsWith(';')) throw new SyntaxError(`entity ${whole}`)
    return character
  })
}

// oxlint-disable-next-line no-control-regex -- what XML 1.0 cannot hold
const illegal = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

/** @throws SyntaxError if the text is not one well-formed element */
export function parseXml(source: string): Element {
  if (illegal.test(source) || !source.isWellFormed()) throw new SyntaxError('a character that XML cannot hold')
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  for (const part of source.match(/<[^>]*>|[^<]+/g) ?? []) {
    const inner = open.at(-1)!
    if (!part.startsWith('<')) inner.text += decode(part)
    else if (part.startsWith('</')) {
      if (part !== `</${inner.name}>`) throw new SyntaxError(`${part} closes <${inner.name}>`)
      open.pop()
    } else {
      const element = parseTag(part)
      inner.children.push(element)
      if (!part.endsWith('/>')) open.push(element)
    }
  }
  if (open.length !== 1 || root.children.length !== 1) throw new SyntaxError(`${open.at(-1)!.name} is not closed`)
  return root.children[0]!
}

function parseTag(tag: string): Element {
  const match = /^<([A-Za-z]+)((?: [A-Za-z:-]+="[^"<]*")*)\/?>$/.exec(tag)
  if (match === null) throw new SyntaxError(`tag ${tag}`)
  const attributes: Record<string, string> = {}
  for (const [, name = '', value = ''] of match[2]!.matchAll(/ ([A-Za-z:-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new SyntaxError(`${name} twice in ${tag}`)
    attributes[name] = decode(value)
  }
  return { name: match[1]!, attributes, children: [], text: '' }
}

/** An element and all in it, outer ones first. */
export const everyElement = (element: Element): Element[] => [element, ...element.children.flatMap(everyElement)]

/** The elements that have this attribute. */
export const withAttribute = (element: Element, name: string): Element[] =>
  everyElement(element).filter(({ attributes }) => name in attributes)
