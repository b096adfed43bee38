/** Takes a chart or a waterfall along: as a file, or in the clipboard. */
import type { JSX } from 'preact'
import { pictureDocument, type PictureTheme } from '../picture-document.ts'
import { say, sayError } from './dialog.tsx'
import { Menu } from './menu.tsx'
import { copyPicture, pngOf, saveFile } from './save.ts'

interface SavePictureProps {
  /** Of the file, without its ending. */
  readonly name: string
  /** An SVG document with its styles and its ground. */
  readonly make: (theme: PictureTheme) => string
}

/** A PNG has the colours that are seen; an SVG follows its reader's. */
const themeSeen = (): PictureTheme => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')

export function SavePicture({ name, make }: SavePictureProps): JSX.Element {
  const file = name.replaceAll(/[^\w.-]+/g, '-')
  const told = async (act: () => Promise<void>): Promise<void> => {
    try {
      await act()
    } catch (error) {
      sayError(error)
    }
  }
  const copy = async (): Promise<void> => {
    const copied = await copyPicture(make(themeSeen()))
    say(copied === 'picture' ? 'The picture was copied.' : 'The picture was copied as SVG.')
  }
  return (
    <Menu
      title="Save picture"
      of={[
        ['Save SVG', () => saveFile(`${file}.svg`, 'image/svg+xml', make('auto'))],
        ['Save PNG', () => void told(async () => saveFile(`${file}.png`, 'image/png', await pngOf(make(themeSeen()))))],
        ['Copy', () => void told(copy)],
      ]}
    />
  )
}

/** What is of a page only: what may be clicked, and what was just taken. */
const pageMarks = ['jc-sendable', 'jc-pulse']

/** A chart of the page as it is seen, as a document of its own. */
export function chartDocument(shown: SVGSVGElement, theme: PictureTheme): string {
  const picture = shown.cloneNode(true) as SVGSVGElement
  picture.setAttribute('class', `jobchart jobchart-${theme}`)
  for (const mark of pageMarks) for (const each of picture.querySelectorAll(`.${mark}`)) each.classList.remove(mark)
  const { width, height } = shown.viewBox.baseVal
  // The styles are added to the text: the policy of the page forbids an element with styles.
  return pictureDocument(new XMLSerializer().serializeToString(picture), { theme, width, height })
}
