/* Loaded before the page is shown, so that it never appears in the wrong colours. */
"use strict";
(() => {
	const root = document.documentElement;
	const darkSystem = window.matchMedia("(prefers-color-scheme: dark)");

	/* Storage may be forbidden; the choice is then forgotten with the page. */
	const remembered = (key) => {
		try {
			return localStorage.getItem(key);
		}
		catch {
			return null;
		}
	};
	const remember = (key, value) => {
		try {
			if (value === null) {
				localStorage.removeItem(key);
			}
			else {
				localStorage.setItem(key, value);
			}
		}
		catch {
			// As above
		}
	};

	root.classList.add("script");
	const choice = remembered("lf-theme");
	if (choice === "light" || choice === "dark") {
		root.dataset.theme = choice;
	}
	const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : darkSystem.matches;

	const element = (name, properties, ...children) => {
		const created = Object.assign(document.createElement(name), properties);
		created.append(...children);
		return created;
	};

	const initTheme = (changed) => {
		const button = document.getElementById("theme");
		const show = () => {
			button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
			button.title = button.getAttribute("aria-label");
			changed();
		};
		button.addEventListener("click", () => {
			const wanted = isDark() ? "light" : "dark";
			// The choice of the system needs no memory: the page goes on following it.
			if ((wanted === "dark") === darkSystem.matches) {
				delete root.dataset.theme;
				remember("lf-theme", null);
			}
			else {
				root.dataset.theme = wanted;
				remember("lf-theme", wanted);
			}
			show();
		});
		darkSystem.addEventListener("change", show);
		button.hidden = false;
		show();
	};

	const initMenu = () => {
		const button = document.getElementById("menu");
		const chapters = document.getElementById("chapters");
		const open = (value) => {
			chapters.classList.toggle("open", value);
			button.setAttribute("aria-expanded", String(value));
		};
		button.hidden = false;
		button.addEventListener("click", () => {
			open(!chapters.classList.contains("open"));
			window.scrollTo(0, 0);
		});
		chapters.addEventListener("keydown", (event) => {
			if (event.key === "Escape" && chapters.classList.contains("open")) {
				open(false);
				button.focus();
			}
		});
		const current = chapters.querySelector("[aria-current]");
		if (current && current.offsetTop > chapters.clientHeight - 80) {
			chapters.scrollTop = current.offsetTop - chapters.clientHeight / 2;
		}
	};

	/* Marks the section that is being read. */
	const initSections = () => {
		const links = [...document.querySelectorAll("#sections a")];
		const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
		let pending = false;
		const mark = () => {
			pending = false;
			const line = document.querySelector(".bar").offsetHeight + 40;
			let current = headings.findLastIndex((heading) => heading.getBoundingClientRect().top <= line);
			if (window.scrollY > 0 && window.innerHeight + window.scrollY >= root.scrollHeight - 2) {
				current = headings.length - 1;
			}
			links.forEach((link, index) => index === current ? link.setAttribute("aria-current", "true")
				: link.removeAttribute("aria-current"));
		};
		document.addEventListener("scroll", () => {
			if (!pending) {
				pending = true;
				requestAnimationFrame(mark);
			}
		}, { passive: true });
		mark();
	};

	/* The text of a listing: of a session, only the commands; never the numbers of callouts, with the comments that hold them. */
	const textOf = (code) => {
		const copy = code.cloneNode(true);
		copy.querySelectorAll(".conum").forEach((number) => number.replaceWith("\0"));
		const text = copy.textContent.replace(/ *(\/\/|#)? *\0+/g, "");
		const commands = code.dataset.lang === "console" && text.split("\n").filter((line) => line.startsWith("$ "));
		return commands && commands.length ? commands.map((line) => line.slice(2)).join("\n") : text;
	};

	const initCopy = () => {
		for (const code of document.querySelectorAll("pre > code:not([data-lang=mermaid])")) {
			const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
			button.setAttribute("aria-live", "polite");
			button.addEventListener("click", async () => {
				let state = "Copied";
				try {
					await navigator.clipboard.writeText(textOf(code));
				}
				catch {
					state = "Not allowed";
				}
				button.textContent = button.dataset.state = state;
				setTimeout(() => {
					button.textContent = "Copy";
					delete button.dataset.state;
				}, 2000);
			});
			code.parentElement.after(button);
			code.parentElement.parentElement.classList.add("code");
		}
	};

	/* Without script, the panels of tabs are shown one after the other, each with its name. */
	const initTabs = () => {
		const groups = [];
		const select = (name, focused) => {
			for (const tabs of groups.filter((candidates) => candidates.some((tab) => tab.textContent === name))) {
				for (const tab of tabs) {
					const selected = tab.textContent === name;
					tab.setAttribute("aria-selected", String(selected));
					tab.tabIndex = selected ? 0 : -1;
					document.getElementById(tab.getAttribute("aria-controls")).hidden = !selected;
				}
			}
			focused?.focus();
		};
		document.querySelectorAll(".tabs").forEach((group, index) => {
			const list = element("div");
			list.setAttribute("role", "tablist");
			list.setAttribute("aria-label", "Language");
			const tabs = [...group.children].map((panel, number) => {
				const title = panel.querySelector(".language");
				const tab = element("button", { type: "button", id: `tab-${index}-${number}`, textContent: title.textContent });
				title.remove();
				panel.id = `panel-${index}-${number}`;
				panel.setAttribute("role", "tabpanel");
				panel.setAttribute("aria-labelledby", tab.id);
				tab.setAttribute("role", "tab");
				tab.setAttribute("aria-controls", panel.id);
				return tab;
			});
			groups.push(tabs);
			const choose = (tab, focused) => {
				// What the reader looks at stays where it is, although other groups change as well.
				const top = tab.getBoundingClientRect().top;
				select(tab.textContent, focused);
				window.scrollBy(0, tab.getBoundingClientRect().top - top);
				remember("lf-tab", tab.textContent);
			};
			list.addEventListener("click", (event) => {
				if (tabs.includes(event.target)) {
					choose(event.target);
				}
			});
			list.addEventListener("keydown", (event) => {
				const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
				if (step) {
					const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
					choose(next, next);
					event.preventDefault();
				}
			});
			list.append(...tabs);
			group.prepend(list);
			select(tabs[0].textContent);
		});
		select(remembered("lf-tab"));
	};

	/* The keyboard reaches everything that scrolls. */
	const initScrolling = () => {
		for (const box of document.querySelectorAll("pre, .table")) {
			if (box.scrollWidth > box.clientWidth) {
				box.tabIndex = 0;
			}
		}
	};

	/* The index is a script, not data to be fetched: a page from a file may load scripts only. */
	let index;
	const loadIndex = () => index ??= new Promise((resolve, reject) => {
		document.head.append(element("script", { src: "site/search-index.js", onload: () => resolve(window.lfSearchIndex), onerror: reject }));
	});

	const find = (sections, query) => {
		const terms = query.toLowerCase().split(/\s+/).filter((term) => term);
		const scored = [];
		for (const section of sections) {
			const [, , chapter, title, text] = section;
			const places = [title.toLowerCase(), chapter.toLowerCase(), text.toLowerCase()];
			let score = 0;
			for (const term of terms) {
				const found = places.map((place) => place.indexOf(term));
				if (found.every((position) => position < 0)) {
					score = 0;
					break;
				}
				const wordStarts = found.map((position, number) => position === 0 || position > 0 && !/\w/.test(places[number][position - 1]));
				score += (found[0] >= 0 ? 20 : 0) + (wordStarts[0] ? 20 : 0) + (places[0] === term ? 30 : 0)
					+ (found[1] >= 0 ? 5 : 0) + (found[2] >= 0 ? 1 + Math.min(9, places[2].split(term).length) : 0) + (wordStarts[2] ? 3 : 0);
			}
			if (score && places[0].includes(terms.join(" "))) {
				score += 15;
			}
			if (score) {
				scored.push({ section, score });
			}
		}
		return { terms, sections: scored.sort((one, other) => other.score - one.score).slice(0, 20).map((entry) => entry.section) };
	};

	/* The text around the first term that is in it, as nodes: nothing that was typed becomes markup. */
	const marked = (text, terms) => {
		const pattern = new RegExp(`(${terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
		return text.split(pattern).map((piece, number) => number % 2 ? element("mark", { textContent: piece }) : piece);
	};
	const excerpt = (text, terms) => {
		const first = Math.min(...terms.map((term) => text.toLowerCase().indexOf(term)).filter((position) => position >= 0), text.length);
		const from = first === text.length || first < 60 ? 0 : text.indexOf(" ", first - 60) + 1;
		const cut = text.slice(from, from + 150);
		return (from ? "… " : "") + (from + 150 < text.length ? cut.slice(0, cut.lastIndexOf(" ")) + " …" : cut);
	};

	const initSearch = () => {
		const form = document.getElementById("search");
		const query = document.getElementById("query");
		const results = document.getElementById("results");
		const status = document.getElementById("found");
		let selected = -1;
		form.hidden = false;

		const show = (visible) => {
			results.hidden = !visible;
			query.setAttribute("aria-expanded", String(visible));
		};
		const choose = (number) => {
			const options = [...results.querySelectorAll("[role=option]")];
			selected = options.length ? (number + options.length) % options.length : -1;
			options.forEach((option, position) => option.setAttribute("aria-selected", String(position === selected)));
			query.setAttribute("aria-activedescendant", options[selected]?.id ?? "");
			options[selected]?.scrollIntoView({ block: "nearest" });
		};
		const go = (option) => {
			show(false);
			query.blur();
			location.href = option.dataset.target;
		};
		const search = async () => {
			const typed = query.value.trim();
			if (!typed) {
				show(false);
				status.textContent = "";
				return;
			}
			const sections = await loadIndex();
			if (typed !== query.value.trim()) {
				return;
			}
			const found = find(sections, typed);
			results.replaceChildren(...found.sections.map(([page, id, chapter, title, text], number) => {
				const option = element("li", { id: "result-" + number }, element("strong", {}, ...marked(title, found.terms)),
					element("small", {}, title === chapter ? "" : chapter + " · ", ...marked(excerpt(text, found.terms), found.terms)));
				option.setAttribute("role", "option");
				option.dataset.target = page + (id ? "#" + encodeURIComponent(id) : "");
				return option;
			}));
			status.textContent = found.sections.length ? `${found.sections.length} sections found` : "Nothing found";
			if (!found.sections.length) {
				const none = element("li", { textContent: "Nothing found" });
				none.setAttribute("role", "presentation");
				results.append(none);
			}
			show(true);
			choose(0);
		};

		query.addEventListener("focus", loadIndex);
		query.addEventListener("input", search);
		query.addEventListener("keydown", (event) => {
			const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
			if (step && !results.hidden) {
				choose(selected + step);
				event.preventDefault();
			}
			else if (event.key === "Escape") {
				show(false);
				query.blur();
			}
		});
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			const option = results.hidden ? null : results.querySelector("[aria-selected=true]");
			if (option) {
				go(option);
			}
		});
		results.addEventListener("click", (event) => {
			const option = event.target.closest("[role=option]");
			if (option) {
				go(option);
			}
		});
		document.addEventListener("click", (event) => {
			if (!form.contains(event.target)) {
				show(false);
			}
		});
		document.addEventListener("keydown", (event) => {
			const typing = event.target.closest?.("input, textarea");
			if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey
					|| event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
				event.preventDefault();
				query.focus();
				query.select();
			}
		});
	};

	/* Links to the guide as it was when it had one page lead to the page that has the section now. */
	const redirect = async () => {
		const id = decodeURIComponent(location.hash.slice(1));
		if (id && !document.getElementById(id) && /(\/|\/index\.html)$/.test(location.pathname)) {
			const section = (await loadIndex()).find((candidate) => candidate[1] === id);
			if (section) {
				location.replace(section[0] + "#" + section[1]);
			}
		}
	};

	/* Draws each diagram. Without script, or where one cannot be drawn, its text remains. */
	const diagrams = () => {
		const texts = [...document.querySelectorAll("pre > code[data-lang=mermaid]")]
			.map((code) => ({ pre: code.parentElement, text: code.textContent }));
		// One after the other, since the library cannot draw two at once.
		let last = Promise.resolve();
		const draw = async () => {
			window.mermaid.initialize({ startOnLoad: false, theme: isDark() ? "dark" : "neutral", suppressErrorRendering: true });
			for (const [number, { pre, text }] of texts.entries()) {
				try {
					pre.innerHTML = (await window.mermaid.render("diagram-" + number, text)).svg;
					pre.className = "mermaid";
					pre.setAttribute("role", "img");
					pre.setAttribute("aria-label", "Diagram");
				}
				catch (error) {
					console.error("Cannot draw diagram " + number, error);
				}
			}
		};
		return () => {
			if (texts.length && window.mermaid) {
				last = last.then(draw);
			}
		};
	};

	document.addEventListener("DOMContentLoaded", () => {
		initTheme(diagrams());
		initMenu();
		initTabs();
		initCopy();
		initSections();
		initScrolling();
		initSearch();
		redirect();
	});
})();
